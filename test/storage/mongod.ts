import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';

const ROOT = join(__dirname, '../..');

/** Path of a mongod, or why there is none. */
export function findMongod(): { readonly path: string } | { readonly reason: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'hack/mongod.sh'), { encoding: 'utf8' });
  if (status === 0) return { path: stdout.trim() };
  return { reason: stderr.trim().split('\n').at(-1) ?? 'there is no mongod' };
}

/** Whether all threads of a process are stopped: on a busy machine some answer for a moment after SIGSTOP. */
function standsStill(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((task) => / T [^)]*$/.test(readFileSync(join(tasks, task, 'stat'), 'utf8')));
}

/** Below those that outgoing connections get, so that none of them has it before the one it is for, or while that one is away. */
const PORTS = { from: 12_000, count: 20_000 };
let ports = process.pid * 37;

/** A port that nobody listens on. Processes begin to look at different places. */
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

/** So long a machine that is busy with other things may take for what takes an idle one a moment. */
const PATIENCE_MILLIS = 120_000;

const started = new Set<Mongod>();

/** What a test that failed left running would keep jest from ending. */
afterAll(async () => {
  await Promise.all([...started].map((mongod) => mongod.dispose()));
});

/** One mongod process, which can be killed and started again on its data. */
export class Mongod {
  private child: ChildProcess | undefined;
  /** None of its files may be larger, as on a disk that is full: in KiB, from the next launch on. */
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

  /** To this member alone. */
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
    // Its disk may be full too.
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

  /** The process stands still, with its connections open, until it is let go on. */
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

  /** Makes running members one set; `prepare` runs on its primary, where nobody must say yet who they are. */
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

  /** The member that takes writes now; waits until there is one. */
  async primary(): Promise<Mongod> {
    const end = Date.now() + PATIENCE_MILLIS;
    do {
      for (const member of this.members) if (await isPrimary(member)) return member;
      await pause(50);
    } while (Date.now() < end);
    throw new Error('the replica set has no primary');
  }

  /** The primary gives up; there is an election, with one member too. */
  async stepDown(): Promise<void> {
    const command = { replSetStepDown: 3, secondaryCatchUpPeriodSecs: 1, force: true };
    // It may close the connection instead of answering.
    await withClient((await this.primary()).directUri, (client) => client.db('admin').command(command)).catch(
      () => undefined,
    );
  }

  /** A command to a database of the primary; waits until there is a primary. */
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
