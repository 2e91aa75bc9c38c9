import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, eventually, ROOT } from '../../integration/server.js';
import { TestCluster } from '../../e2e/cluster.js';
import { converted } from '../../e2e/widgets.js';
import { LoadProgram, type LoadFlags, type Measured, table } from './annexbench.js';

const CRD = join(ROOT, 'test/bench/annexbench/crd.json');
const TYPE = '/apis/bench.example.com/v1/benches';
const OBJECTS = Number(process.env['OBJECTS'] ?? 1000);
const WRITES = Number(process.env['WRITES'] ?? 2000);
/** The output file of the tables. Without it they go only to standard error. */
const OUT = process.env['OUT'] ?? '';
const ALL =
  '^(load_c16|create_c1|create_c16|create_c64|get_c16|get_rv0_c16|list_all_rv0|list_all_rv0_gzip|watch_w100)$';
const CREATES = '^(load_c16|create_c1|create_c16|create_c64)$';

const missing = process.env['E2E_MISSING'] ?? '';
const tables: string[] = [];

function print(title: string, results: readonly Measured[]): void {
  const text = `## ${title}\n\n${table(results)}\n`;
  tables.push(text);
  process.stderr.write(`\n${text}\n`);
  for (const { scenario, errors, error } of results) {
    if (errors > 0) throw new Error(`${title}, ${scenario}: ${String(errors)} errors: ${error ?? ''}`);
  }
}

(missing === '' ? describe : describe.skip)(missing === '' ? 'replicas' : `replicas (skipped: ${missing})`, () => {
  const cluster = new TestCluster();
  let load: LoadProgram;
  let common: LoadFlags;

  const urlOf = (index: number): string => `https://127.0.0.1:${cluster.replica(index).port}`;
  const [one, two] = [() => urlOf(0), () => `${urlOf(0)},${urlOf(1)}`];
  const pids = (...replicas: number[]): string =>
    [
      ...replicas.map((index) => `annex${index}=${cluster.replica(index).daemon.pid}`),
      ...cluster.mongodb.members.map(({ pid }, i) => `mongod${i}=${pid}`),
    ].join(',');
  const run = (flags: LoadFlags): Promise<readonly Measured[]> => load.run({ ...common, ...flags });

  beforeAll(async () => {
    await cluster.start((step) => process.stderr.write(`${step}\n`));
    await cluster.kubectl.ok(['create', '-f', '-'], { stdin: await converted(CRD) });
    await eventually('the type is served', async () => {
      const answers = await Promise.all([cluster.http, cluster.direct(0), cluster.direct(1)].map((to) => to.get(TYPE)));
      return answers.every(({ status }) => status === 200) ? true : undefined;
    });
    const namespaces = Array.from(
      { length: Math.ceil(OBJECTS / 100) },
      (_, i) => `bench-${String(i).padStart(3, '0')}`,
    );
    for (const name of [...namespaces, 'bench-scratch']) await cluster.kubectl.ok(['create', 'namespace', name]);
    load = new LoadProgram();
    common = {
      token: ADMIN,
      registered: true,
      objects: OBJECTS,
      n: WRITES,
      // CPU is reported in steps of 10 ms, so runs must be long enough.
      lists: 60,
      dur: '4s',
      'watch-dur': '6s',
      settle: '1s',
    };
  });
  afterAll(async () => {
    if (OUT !== '') writeFileSync(OUT, tables.join('\n'));
    await cluster.stop();
  });

  test('one replica', async () => {
    print('One replica, directly', await run({ url: one(), pids: pids(0), only: ALL }));
  });

  test('one replica through the aggregator', async () => {
    const flags = { url: cluster.address.url, ca: cluster.file('cluster-ca.crt', cluster.address.ca) };
    const all = `${pids(0, 1)},${cluster.controlPlanePids}`;
    print('Through the aggregator', await run({ ...flags, pids: all, only: ALL }));
  });

  test('two replicas', async () => {
    print('Two replicas, directly', await run({ url: two(), conns: 2, pids: pids(0, 1), only: CREATES }));
  });

  test.each([20, 200])('events at the other replica, %i writes/s', async (rate) => {
    const flags = { only: '^watch_w1$', 'watch-rate': rate, 'watch-conns': 1, pids: pids(0, 1), url: urlOf(0) };
    const same = await run({ ...flags, 'watch-url': urlOf(0) });
    const other = await run({ ...flags, 'watch-url': urlOf(1) });
    const named = (name: string, results: readonly Measured[]): Measured[] =>
      results.map((result) => ({ ...result, scenario: name }));
    print(`Events, ${rate} writes/s at one replica: from the answer to the watcher`, [
      ...named('watcher at the same replica', same),
      ...named('watcher at the other replica', other),
    ]);
  });
});
