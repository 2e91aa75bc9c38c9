import { randomBytes } from 'node:crypto';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, scratchFolder } from '../integration/server.js';
import { findMongod, Mongod, until } from '../storage/mongod.js';
import { mountSmallDisk, unmount, whyNoSmallDisk } from '../storage/small-disk.js';
import { MAPS, NAMESPACE } from './clients.js';
import { Pair, type Replica } from './replicas.js';

const found = findMongod();
const DISK_MIB = 260;
/** The journal allocates whole files. */
const FLAGS = ['--replSet', 'rs0', '--wiredTigerEngineConfigString', 'log=(file_max=8MB)'];
/** The free space on the disk when the test begins to fill it. */
const ROOM_BYTES = 12 << 20;

const scratch = scratchFolder();
const why = 'reason' in found ? found.reason : whyNoSmallDisk();
const described = why === undefined ? describe : describe.skip;
if (why !== undefined) test.skip(`a full disk: ${why}`, () => undefined);

async function writes(replica: Replica, name: string, text: string): Promise<number> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } };
  const { status } = await replica.client.send({ method: 'POST', path: MAPS, body }, 30_000);
  return status;
}

const namesAt = async (replica: Replica): Promise<string[]> => {
  const { status, text } = await replica.client.send({ path: MAPS }, 30_000);
  if (status !== 200) return [];
  return (JSON.parse(text) as { items: { metadata: { name: string } }[] }).items.map((item) => item.metadata.name);
};

described("MongoDB's disk is full", () => {
  const disk = join(scratch, 'disk');
  const stopping = new AbortController();
  let pair: Pair | undefined;
  afterAll(async () => {
    stopping.abort();
    await pair?.end();
    unmount(disk);
  });

  test('writes fail and /readyz reports it; with room again, both servers write, and no write is lost', async () => {
    mountSmallDisk(disk, DISK_MIB);
    const mongod = await Mongod.start('path' in found ? found.path : '', FLAGS, disk);
    const { replicas } = (pair = await Pair.start([mongod], scratch, { windowSeconds: 60 }));
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE.split('/').at(-1) } };
    await replicas[0].client.send({ method: 'POST', path: '/api/v1/namespaces', body: namespace });
    const ballast = join(disk, 'ballast');
    const acknowledged: string[] = [];
    const work = replicas.flatMap((replica) =>
      [1, 2, 3].map(async (writer) => {
        for (let i = 0; !stopping.signal.aborted; i++) {
          const name = `${replica.name}-${writer}-${i}`;
          // Random, because MongoDB would compress repeated text.
          const status = await writes(replica, name, randomBytes(75_000).toString('base64'));
          if (status === 201) acknowledged.push(name);
        }
      }),
    );
    try {
      await until('something is written', () => acknowledged.length > 10);
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - ROOM_BYTES)));
      await until('mongod ends', () => !mongod.runs);
      for (const replica of replicas) {
        await eventually(`${replica.name} says that writes fail`, async () => {
          const { status, text } = await replica.client.send({ path: '/readyz/store-writes' });
          return status === 500 && text.includes('no write has succeeded for') ? true : undefined;
        });
        // The first failing writes have no cause in the log, because MongoDB has not responded by then.
        await until(`${replica.name} tells why`, () => /"cause":"[^"]+".*"store request failed"/.test(replica.log));
      }
    } finally {
      rmSync(ballast, { force: true });
    }
    await mongod.launch();
    const before = new Map(replicas.map(({ name }) => [name, acknowledged.length]));
    await eventually('both servers write again', () => {
      const again = replicas.every(({ name }) =>
        acknowledged.slice(before.get(name)).some((key) => key.startsWith(`${name}-`)),
      );
      return Promise.resolve(again ? true : undefined);
    });
    for (const replica of replicas) {
      const { status } = await replica.client.send({ path: '/readyz/store-writes' });
      expect([replica.name, status]).toEqual([replica.name, 200]);
    }
    stopping.abort();
    await Promise.all(work);
    for (const replica of replicas) {
      const names = new Set(await namesAt(replica));
      expect(acknowledged.filter((name) => !names.has(name))).toEqual([]);
    }
  });
});
