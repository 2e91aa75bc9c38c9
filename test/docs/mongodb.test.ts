import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import type { Collection, Db } from 'mongodb';
import { parseAllDocuments } from 'yaml';
import { Http1 } from '../integration/client.js';
import { eventually, ROOT, scratchFolder, TestServer } from '../integration/server.js';
import { findMongod, ReplicaSet, withClient } from '../storage/mongod.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
const text = readFileSync(join(ROOT, 'docs/mongodb.md'), 'utf8');
const blocks = [...text.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => (code ?? '').trim());
const PASSWORD = 'correct horse';

const documentsOf = (folder: string): object[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => parseAllDocuments(readFileSync(join(ROOT, folder, name), 'utf8')))
    .map((document): unknown => document.toJS())
    .filter((value): value is object => typeof value === 'object' && value !== null);

/** The part of mongosh that the page uses. */
const shell = (db: Db): object => ({
  db: {
    createUser: ({ user, pwd, roles }: { user: string; pwd: string; roles: object[] }) =>
      db.command({ createUser: user, pwd, roles }),
    getCollection: (name: string): Collection => db.collection(name),
  },
  passwordPrompt: () => PASSWORD,
});

const isCursor = (value: unknown): value is { toArray(): Promise<unknown[]> } =>
  typeof value === 'object' && value !== null && 'toArray' in value;

test('the page has five examples', () => {
  expect(blocks.length).toBe(5);
});

described('the commands of docs/mongodb.md', () => {
  let set: ReplicaSet;
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));

  beforeAll(async () => {
    set = await ReplicaSet.start('path' in found ? found.path : '');
    server = await TestServer.start(folder, [
      '--storage-backend=mongodb',
      `--mongodb-uri=${set.uri}`,
      '--mongodb-database=annex',
    ]);
    const http = new Http1(server);
    for (const crd of documentsOf('examples/crds')) {
      const answer = await http.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
      expect(answer.status).toBe(201);
    }
    const reports = '/apis/wgpolicyk8s.io/v1alpha2/namespaces/default/policyreports';
    await eventually('the type is served', async () => ((await http.get(reports)).status === 200 ? true : undefined));
    for (const [name, fail] of [
      ['good', 0],
      ['bad', 2],
      ['worse', 5],
    ] as const) {
      const results = Array.from({ length: fail }, (_, i) => ({ policy: 'p', rule: `rule-${i % 2}`, result: 'fail' }));
      const body = {
        apiVersion: 'wgpolicyk8s.io/v1alpha2',
        kind: 'PolicyReport',
        metadata: { name },
        summary: { fail },
        results,
      };
      expect((await http.post(reports, body)).status).toBe(201);
    }
    await withClient(set.uri, (client) =>
      eventually('all is projected', async () => {
        const found = await client.db('annex').collection('policyreports.wgpolicyk8s.io').countDocuments();
        return found === 3 ? true : undefined;
      }),
    );
  }, 240_000);

  afterAll(async () => {
    await server?.stop();
    await set.dispose();
  });

  test('the examples do what the page says', async () => {
    const results: unknown[] = [];
    await withClient(set.uri, async (client) => {
      for (const block of blocks) {
        const value: unknown = await runInNewContext(block, shell(client.db('annex')));
        results.push(isCursor(value) ? await value.toArray() : value);
      }
    });
    const [annex, reader, worst, namespaces, rules] = results;
    expect([annex, reader]).toMatchObject([{ ok: 1 }, { ok: 1 }]);
    expect(worst).toMatchObject([
      { _id: 'default/worse', metadata: { namespace: 'default', name: 'worse' }, summary: { fail: 5 } },
      { _id: 'default/bad', summary: { fail: 2 } },
    ]);
    expect(namespaces).toEqual([{ _id: 'default', reports: 3, fail: 7 }]);
    expect(rules).toEqual([
      { _id: 'rule-0', times: 4 },
      { _id: 'rule-1', times: 3 },
    ]);
  });
});
