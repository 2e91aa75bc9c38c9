import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestServer } from '../integration/server.js';
import { type Mongod, ReplicaSet } from '../storage/mongod.js';
import { FaultProxy } from './proxy.js';
import { Client, type Endpoint } from './requests.js';

/** Notices within seconds that nobody answers. */
const OPTIONS = '&heartbeatFrequencyMS=1000&connectTimeoutMS=5000&serverSelectionTimeoutMS=5000';
const ATTEMPTS_TO_START = 20;

/** A server process that can be killed and comes back with its data folder, on another port. */
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

  /** It refuses to start while MongoDB is away. */
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

  /** Whether the process has ended by itself. */
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

/** Two replicas on one mongod, the second one behind the proxy. */
export class Pair {
  private constructor(
    readonly mongod: Mongod,
    private readonly set: ReplicaSet,
    readonly proxy: FaultProxy,
    readonly direct: Replica,
    readonly proxied: Replica,
  ) {}

  static async start(mongod: Mongod, folder: string, windowSeconds: number): Promise<Pair> {
    const set = await ReplicaSet.of([mongod]);
    const proxy = await FaultProxy.start(mongod.port);
    const flags = ['--controllers=', `--history-window=${windowSeconds}s`, '--mongodb-database', 'faults'];
    const direct = new Replica('direct', join(folder, 'direct'), flags, mongod.directUri + OPTIONS);
    const proxied = new Replica('proxied', join(folder, 'proxied'), flags, proxy.uri(OPTIONS));
    const pair = new Pair(mongod, set, proxy, direct, proxied);
    try {
      await direct.start();
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
    this.mongod.thaw();
    await Promise.all(this.replicas.map((replica) => replica.end()));
    await this.proxy.close();
    await this.set.dispose();
  }
}
