import { eventually, scratchFolder } from '../integration/server.js';
import { findMongod, Mongod, until, withClient } from '../storage/mongod.js';
import { MAPS, NAMESPACE } from './clients.js';
import { Pair, type Replica } from './replicas.js';

const found = findMongod();
const FLAGS = ['--replSet', 'rs0', '--setParameter', 'enableTestCommands=1'];
/** Longer than a replica waits for the response, so that it must not rely on MongoDB to give up. */
const BLOCKED_MILLIS = 45_000;
const INSERT = { 'command.insert': 'log', 'command.$db': 'faults' };

const scratch = scratchFolder();
const described = 'path' in found ? describe : describe.skip;
if ('reason' in found) test.skip(`stuck commits: ${found.reason}`, () => undefined);

/** The names of the objects by the status of their creation. */
class Creations {
  private readonly names = new Map<number, string[]>();
  private count = 0;

  of(status: number): readonly string[] {
    return this.names.get(status) ?? [];
  }

  /** The number of objects that a replica has created. */
  by({ name }: Replica): number {
    return this.of(201).filter((created) => created.startsWith(`${name}-`)).length;
  }

  async create(replica: Replica): Promise<void> {
    const name = `${replica.name}-${this.count++}`;
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    const { status } = await replica.client.send({ method: 'POST', path: MAPS, body }, 60_000);
    this.names.set(status, [...this.of(status), name]);
  }
}

async function namesAt({ client }: Replica): Promise<readonly string[]> {
  const { text } = await client.send({ path: MAPS }, 60_000);
  return (JSON.parse(text) as { items: { metadata: { name: string } }[] }).items.map((item) => item.metadata.name);
}

async function restartsOf({ client }: Replica): Promise<number> {
  const { text } = await client.send({ path: '/metrics' });
  return Number(/^annex_store_commit_restarts_total\{log=""\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

described('MongoDB answers, but does not commit', () => {
  const stopping = new AbortController();
  let pair: Pair | undefined;
  afterAll(async () => {
    stopping.abort();
    await pair?.end();
  });

  test('each replica restarts its commit path; later, both write again, and nothing is lost or appears late', async () => {
    const mongod = await Mongod.start('path' in found ? found.path : '', FLAGS);
    const admin = (command: object): Promise<object> =>
      withClient(mongod.directUri, (client) => client.db('admin').command(command));
    const { replicas } = (pair = await Pair.start([mongod], scratch, { windowSeconds: 300 }));
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE.split('/').at(-1) } };
    await replicas[0].client.send({ method: 'POST', path: '/api/v1/namespaces', body: namespace });
    const creations = new Creations();
    const work = replicas.flatMap((replica) =>
      [1, 2, 3].map(async () => {
        while (!stopping.signal.aborted) await creations.create(replica);
      }),
    );
    const bothWrite = (): Promise<void> => {
      const before = replicas.map((replica) => creations.by(replica));
      return until('both servers write', () => replicas.every((one, i) => creations.by(one) > (before[i] ?? 0)));
    };
    await bothWrite();
    const data = { failCommands: ['insert'], namespace: 'faults.log', blockConnection: true };
    await admin({
      configureFailPoint: 'failCommand',
      mode: 'alwaysOn',
      data: { ...data, blockTimeMS: BLOCKED_MILLIS },
    });
    for (const replica of replicas) {
      await eventually(`${replica.name} restarts its commit path`, async () =>
        replica.log.includes('restarting the commit path') && (await restartsOf(replica)) > 0 ? true : undefined,
      );
      // MongoDB answers everything else.
      await eventually(`${replica.name} reads`, async () => {
        const { status } = await replica.client.send({ path: MAPS });
        return status === 200 ? true : undefined;
      });
    }
    await admin({ configureFailPoint: 'failCommand', mode: 'off' });
    await bothWrite();
    stopping.abort();
    await Promise.all(work);
    // The failpoint keeps an insert for the whole time, even when its connection is closed.
    await until('no insert is blocked', async () => {
      const { inprog } = (await admin({ currentOp: 1, ...INSERT })) as { inprog: unknown[] };
      return inprog.length === 0;
    });
    for (const replica of replicas) {
      const names = new Set(await namesAt(replica));
      const lost = creations.of(201).filter((name) => !names.has(name));
      const late = creations.of(503).filter((name) => names.has(name));
      expect([replica.name, lost, late]).toEqual([replica.name, [], []]);
    }
  });
});
