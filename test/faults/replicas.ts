import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestServer } from '../integration/server.js';
import { type Mongod, ReplicaSet } from '../storage/mongod.js';
import { FaultProxy } from './proxy.js';
import { Client, type Endpoint } from './requests.js';

/** Detects an unresponsive server within seconds. */
const OPTIONS = '&heartbeatFrequencyMS=1000&connectTimeoutMS=5000&serverSelectionTimeoutMS=5000';
const ATTEMPTS_TO_START = 20;

/** A server process that can be killed and restarted with its data folder, on another port. */
export class Replica {
  readonly client: Client;
  private server: TestServer | undefined;
  private endpoint: Endpoint | undefined;

  constructor(
    readonly name: string,
    private readonly folder: string,
    private readonly flags: readonly string[],
    uri: string,
  ) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'uri'), uri);
    this.client = new Client(() => {
      if (this.endpoint === undefined) throw new Error('the server has not started');
      return this.endpoint;
    });
  }

  /** Starts the server. It refuses to start while MongoDB is away, so the start is retried. */
  async start(): Promise<void> {
    const flags = ['--storage-backend=mongodb', '--mongodb-uri-file', join(this.folder, 'uri'), ...this.flags];
    for (let attempt = 1; ; attempt++) {
      try {
        this.server = await TestServer.start(this.folder, flags);
        this.endpoint = { url: this.server.url, ca: this.server.ca };
        return;
      } catch (error) {
        if (attempt === ATTEMPTS_TO_START) throw error;
      }
    }
  }

  /** The log of the current process. */
  get log(): string {
    return this.server?.log ?? '';
  }

  async kill(): Promise<void> {
    await this.server?.stop('SIGKILL');
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.server?.signal(name);
  }

  async end(): Promise<void> {
    this.client.close();
    this.signal('SIGCONT');
    await this.kill();
  }
}

/** Gives leases their own log. */
const OWN_LOG = '--mongodb-log-overrides=coordination.k8s.io/leases#leases';

export interface PairOptions {
  readonly windowSeconds: number;
  /** True if leases have their own log. */
  readonly ownLog?: boolean;
}

/** Two replicas on one MongoDB. If it has one member, the second replica is behind the proxy. */
export class Pair {
  private constructor(
    readonly mongod: Mongod,
    readonly set: ReplicaSet,
    readonly proxy: FaultProxy,
    readonly direct: Replica,
    readonly proxied: Replica,
    /** True if leases and other types share one sequence of revisions. */
    readonly oneLog: boolean,
  ) {}

  static async start(members: readonly [Mongod, ...Mongod[]], folder: string, options: PairOptions): Promise<Pair> {
    const { windowSeconds, ownLog = false } = options;
    const [mongod] = members;
    const set = await ReplicaSet.of(members);
    const proxy = await FaultProxy.start(mongod.port);
    const flags = ['--controllers=', `--history-window=${windowSeconds}s`, '--mongodb-database', 'faults'];
    if (ownLog) flags.push(OWN_LOG);
    const uri = set.uri + OPTIONS;
    const isOne = members.length === 1;
    // The direct replica has almost no memory budget. Its objects are in its cache file, with which it continues after a restart.
    const onFile = ['--cache-budget=1', '--cache-dir', join(folder, 'direct', 'cache')];
    const ofDirect = [...flags, ...onFile];
    const direct = new Replica('direct', join(folder, 'direct'), ofDirect, isOne ? mongod.directUri + OPTIONS : uri);
    const proxied = new Replica('proxied', join(folder, 'proxied'), flags, isOne ? proxy.uri(OPTIONS) : uri);
    const pair = new Pair(mongod, set, proxy, direct, proxied, !ownLog);
    try {
      await direct.start();
      // Servers on one database have the same keys.
      cpSync(join(folder, 'direct', 'data', 'pki'), join(folder, 'proxied', 'data', 'pki'), { recursive: true });
      await proxied.start();
    } catch (error) {
      await pair.end();
      throw error;
    }
    return pair;
  }

  get replicas(): readonly [Replica, Replica] {
    return [this.direct, this.proxied];
  }

  async end(): Promise<void> {
    this.proxy.pass();
    for (const member of this.set.members) member.thaw();
    await Promise.all(this.replicas.map((replica) => replica.end()));
    await this.proxy.close();
    await this.set.dispose();
  }
}
