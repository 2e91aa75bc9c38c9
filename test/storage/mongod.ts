import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';

const ROOT = join(__dirname, '../..');

/** Returns the path of a mongod, or why none is available. */
export function findMongod(): { readonly path: string } | { readonly reason: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'hack/mongod.sh'), { encoding: 'utf8' });
  if (status === 0) return { path: stdout.trim() };
  return { reason: stderr.trim().split('\n').at(-1) ?? 'there is no mongod' };
}

/** Reports whether all threads of a process are stopped. On a busy machine, some of them run for a moment after SIGSTOP. */
function standsStill(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((task) => / T [^)]*$/.test(readFileSync(join(tasks, task, 'stat'), 'utf8')));
}

/** These ports are below the range of outgoing connections, so no connection takes one before its server starts, or while it is down. */
const PORTS = { from: 12_000, count: 20_000 };
let ports = process.pid * 37;

/** Returns a port without a listener. Each process starts its search at a different port. */
export async function freePort(): Promise<number> {
  for (let attempts = 0; attempts < PORTS.count; attempts++) {
    const port = PORTS.from + (ports++ % PORTS.count);
    if (await isFree(port)) return port;
  }
  throw new Error('there is no free port');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** How long a busy machine may take for what is instant on an idle one. */
const PATIENCE_MILLIS = 120_000;

const started = new Set<Mongod>();

/** A process left running by a failed test would keep jest from exiting. */
afterAll(async () => {
  await Promise.all([...started].map((mongod) => mongod.dispose()));
});

/** A mongod process that can be killed and restarted on its data. */
export class Mongod {
  private child: ChildProcess | undefined;
  /** The maximum size of each file in KiB, as on a full disk. Applies from the next launch on. */
  fileLimit: number | undefined;

  private constructor(
    private readonly path: string,
    readonly port: number,
    private readonly folder: string,
    private readonly flags: readonly string[],
  ) {}

  static async start(
    path: string,
    flags: readonly string[] = ['--replSet', 'rs0'],
    parent = tmpdir(),
  ): Promise<Mongod> {
    const folder = await mkdtemp(join(parent, 'annex-mongod-'));
    const mongod = new Mongod(path, await freePort(), folder, flags);
    started.add(mongod);
    try {
      await mongod.launch();
    } catch (error) {
      await mongod.dispose();
      throw error;
    }
    return mongod;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Connects to this member only. */
  get directUri(): string {
    return `mongodb://${this.address}/?directConnection=true`;
  }

  async launch(): Promise<void> {
    const args = ['--dbpath', this.folder, '--port', String(this.port), '--bind_ip', '127.0.0.1'];
    args.push('--nounixsocket', '--wiredTigerCacheSizeGB', '0.25');
    if (!this.flags.includes('--oplogSize')) args.push('--oplogSize', '200');
    args.push('--setParameter', 'diagnosticDataCollectionEnabled=false', ...this.flags);
    const { path, fileLimit } = this;
    const limited = ['-c', `ulimit -f ${String(fileLimit)}; exec "$0" "$@"`, path, ...args];
    const [program, given] = fileLimit === undefined ? [path, args] : ['bash', limited];
    const child = spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'] });
    const log = createWriteStream(join(this.folder, 'mongod.log'), { flags: 'a' });
    child.stdout.pipe(log);
    child.stderr.pipe(log);
    // The disk with the log file may be full too.
    log.on('error', () => {
      child.stdout.resume();
      child.stderr.resume();
    });
    this.child = child;
    const killed = (): boolean => child.kill('SIGKILL');
    process.once('exit', killed);
    child.once('close', () => process.removeListener('exit', killed));
    await this.answers(child);
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined || !this.runs) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill(signal);
    await ended;
  }

  get runs(): boolean {
    const { child } = this;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Stops the process with its connections open, until thaw is called. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
    const end = performance.now() + 5_000;
    while (!standsStill(this.pid) && performance.now() < end)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  async dispose(): Promise<void> {
    started.delete(this);
    await this.kill('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  private async answers(child: ChildProcess): Promise<void> {
    const end = Date.now() + PATIENCE_MILLIS;
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > end) {
        const log = await readFile(join(this.folder, 'mongod.log'), 'utf8');
        throw new Error(`mongod does not run: ${log.slice(-2000)}`);
      }
      try {
        await withClient(this.directUri, (client) => client.db('admin').command({ ping: 1 }), 2_000);
        return;
      } catch {
        await pause(50);
      }
    }
  }
}

/** A replica set on loopback. */
export class ReplicaSet {
  private constructor(readonly members: readonly Mongod[]) {}

  static async start(path: string, size = 1): Promise<ReplicaSet> {
    return ReplicaSet.of(await Promise.all(Array.from({ length: size }, () => Mongod.start(path))));
  }

  /** Initiates a replica set of running members. `prepare` runs on its primary, where no authentication is required yet. */
  static async of(members: readonly Mongod[], prepare?: (client: MongoClient) => Promise<void>): Promise<ReplicaSet> {
    const [first] = members;
    if (first === undefined) throw new Error('a replica set has members');
    await withClient(first.directUri, (client) =>
      client.db('admin').command({
        replSetInitiate: {
          _id: 'rs0',
          members: members.map((member, i) => ({ _id: i, host: member.address })),
          settings: { electionTimeoutMillis: 2_000, heartbeatIntervalMillis: 500 },
        },
      }),
    );
    const set = new ReplicaSet(members);
    await withClient(set.uri, prepare ?? ping);
    return set;
  }

  get uri(): string {
    return `mongodb://${this.members.map((member) => member.address).join(',')}/?replicaSet=rs0`;
  }

  /** Returns the primary, and waits until one exists. */
  async primary(): Promise<Mongod> {
    const end = Date.now() + PATIENCE_MILLIS;
    do {
      for (const member of this.members) if (await isPrimary(member)) return member;
      await pause(50);
    } while (Date.now() < end);
    throw new Error('the replica set has no primary');
  }

  /** Makes the primary step down. An election follows, even with one member. */
  async stepDown(): Promise<void> {
    const command = { replSetStepDown: 3, secondaryCatchUpPeriodSecs: 1, force: true };
    // The primary may close the connection instead of answering.
    await withClient((await this.primary()).directUri, (client) => client.db('admin').command(command)).catch(
      () => undefined,
    );
  }

  /** Runs a command on a database of the primary, and waits until a primary exists. */
  command(command: Record<string, unknown>, database = 'admin'): Promise<unknown> {
    return withClient(this.uri, (client) => client.db(database).command(command));
  }

  async dispose(): Promise<void> {
    await Promise.all(this.members.map((member) => member.dispose()));
  }
}

async function isPrimary(member: Mongod): Promise<boolean> {
  try {
    const hello = await withClient(member.directUri, (client) => client.db('admin').command({ hello: 1 }), 1_000);
    return hello['isWritablePrimary'] === true;
  } catch {
    return false;
  }
}

async function ping(client: MongoClient): Promise<void> {
  await client.db('admin').command({ ping: 1 });
}

export async function withClient<T>(
  uri: string,
  action: (client: MongoClient) => Promise<T>,
  millis = PATIENCE_MILLIS,
): Promise<T> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: millis, runtimeAdapters: { os } });
  try {
    await client.connect();
    return await action(client);
  } finally {
    await client.close();
  }
}

export function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

/** Waits until the condition holds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MILLIS;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${PATIENCE_MILLIS} ms`);
    await pause(10);
  }
}
