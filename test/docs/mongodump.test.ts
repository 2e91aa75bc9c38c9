import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { digList, digText, Http1, treeOf } from '../integration/client.js';
import { run, scratchFolder, TestServer } from '../integration/server.js';
import { findMongod, ReplicaSet } from '../storage/mongod.js';
import { Guide, shellBlocks } from './guides.js';

const WRITERS = 4;
const found = findMongod();
const missing = ['mongodump', 'mongorestore'].filter((name) => spawnSync(name, ['--version']).status !== 0);
const why = 'path' in found ? (missing.length > 0 ? `no ${missing.join(', ')} on PATH` : '') : found.reason;

(why === '' ? describe : describe.skip)(`backup.md with MongoDB's own tools${why && ` (skipped: ${why})`}`, () => {
  const sets: ReplicaSet[] = [];
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => {
    await server?.stop('SIGKILL');
    await Promise.all(sets.map((set) => set.dispose()));
  });
  const flagsFor = (set: ReplicaSet): string[] => [
    '--storage-backend=mongodb',
    `--mongodb-uri=${set.uri}`,
    '--mongodb-database=annex',
  ];
  const guideFor = (set: ReplicaSet, name: string): Guide =>
    new Guide(join(folder, name), {}, { DUMP_URI: set.uri, ARCHIVE: join(folder, 'annex.archive') });

  test('a restore has every write acknowledged before the dump, and none is torn', async () => {
    const path = 'path' in found ? found.path : '';
    sets.push(await ReplicaSet.start(path), await ReplicaSet.start(path));
    const [from, to] = sets as [ReplicaSet, ReplicaSet];
    const [dump, restore] = shellBlocks('backup.md').filter(({ kind }) => kind === 'sh mongodb');
    server = await TestServer.start(folder, flagsFor(from));
    const http = new Http1(server);
    const maps = '/api/v1/namespaces/default/configmaps';
    const acknowledged = new Map<string, number>();
    let dumping = true;
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; dumping; n++) {
        const name = `map-${writer}-${n % 40}`;
        const body = { metadata: { name }, data: { n: String(n), pad: 'x'.repeat(2_000) } };
        const put = { method: 'PUT', path: `${maps}/${name}`, body };
        const answer = n < 40 ? await http.post(maps, body) : await http.send(put);
        expect([200, 201]).toContain(answer.status);
        acknowledged.set(name, n);
      }
    };
    const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    while (acknowledged.size < WRITERS * 40) await new Promise((resolve) => setTimeout(resolve, 50));
    const before = new Map(acknowledged);
    await guideFor(from, 'dumping').run(dump?.text ?? '');
    dumping = false;
    await writers;
    // The dump ran under load, so that the oplog matters.
    expect([...acknowledged].some(([name, n]) => n > (before.get(name) ?? 0))).toBe(true);
    await server.stop();

    await guideFor(to, 'restoring').run(restore?.text ?? '');
    const doctor = await run(['doctor', '--data-dir', server.dataDir, ...flagsFor(to)]);
    expect(doctor.stdout).toMatch(/^store: ok \(/m);
    server = await TestServer.start(folder, flagsFor(to));
    const again = new Http1(server);
    const items = digList(treeOf(await again.get(maps)), 'items');
    const restored = new Map(items.map((map) => [digText(map, 'metadata', 'name'), Number(digText(map, 'data', 'n'))]));
    restored.delete('kube-root-ca.crt');
    expect([...before].filter(([name, n]) => (restored.get(name) ?? -1) < n)).toEqual([]);
    expect([...restored].filter(([name, n]) => n > (acknowledged.get(name) ?? -1))).toEqual([]);
    // Writes continue above the backup's revisions.
    expect((await again.post(maps, { metadata: { name: 'after' } })).status).toBe(201);
  }, 240_000);
});
