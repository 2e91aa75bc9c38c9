/**
 * What a commit costs: today's store, transactions by the driver's public API, and one insert into the log with the projection behind it
 * (docs/design/mongodb-log.md). The committer, the follower's work and what is written are the same in all of them.
 *     hack/with-mongod.sh node test/bench/managedfields-run.mjs test/bench/mongodb-log-prototype.ts [seconds] [rounds] ['create 16 1 by-.*']
 * The last one says which of `<write> <clients> <replicas> <variant>` are measured.
 */
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { encodeObject } from '../../src/storage/encode.js';
import type { WriteRequest, WriteResult } from '../../src/storage/interfaces.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';
import { VARIANTS, type Variant } from './mongodb-log-projector.js';
import { openPrototype } from './mongodb-log-variants.js';

const SECONDS = Number(process.argv[3] ?? 4);
const ROUNDS = Number(process.argv[4] ?? 1);
const ONLY = new RegExp(process.argv[5] ?? '');
/** On a busy machine a measurement takes longer rather than that it counts a few writes. */
const LEAST_WRITES = 300;
const RESOURCE = 'policyreports.wgpolicyk8s.io';
const uri = process.env['MONGODB_URI'] ?? '';
const mongod = process.env['MONGOD_PID'];
let databases = 0;

interface Store {
  write(request: WriteRequest): Promise<WriteResult>;
  /** Until all is projected. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

function report(name: string, version: number) {
  const managed = Object.fromEntries(Array.from({ length: 24 }, (_, n) => [`k:{"rule":"r${n}"}`, { '.': {} }]));
  return encodeObject({
    apiVersion: 'wgpolicyk8s.io/v1alpha2',
    kind: 'PolicyReport',
    metadata: {
      name,
      namespace: 'bench',
      uid: '2f0a3d4e-7c1f-4a55-9c6a-0d6b1a5d0c11',
      labels: { app: 'bench' },
      managedFields: [{ manager: 'bench', operation: 'Update', fieldsV1: { 'f:results': managed } }],
    },
    results: Array.from({ length: 12 }, (_, n) => ({
      policy: 'require-labels',
      rule: `check-for-label-${n}`,
      message: `validation rule passed for the resource (${version})`,
      result: 'pass',
      scored: true,
    })),
    summary: { error: 0, fail: 0, pass: 12, skip: 0, warn: 0 },
  });
}

async function open(variant: Variant | 'today', database: string): Promise<Store> {
  if (variant !== 'today') return openPrototype({ uri, database, variant, resource: RESOURCE });
  const backend = new MongoBackend({ uri, database });
  await backend.open();
  return {
    write: (request) => backend.write(request),
    settled: () => Promise.resolve(),
    close: () => backend.close(),
  };
}

/** CPU seconds that mongod has used. */
function mongodCpu(): number {
  if (mongod === undefined) return 0;
  const fields = readFileSync(`/proc/${mongod}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const percentile = (sorted: readonly number[], p: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * p) / 100))] ?? 0).toFixed(1);

interface Load {
  readonly kind: 'create' | 'update';
  readonly clients: number;
  readonly replicas: number;
}

async function measure(variant: Variant | 'today', { kind, clients, replicas }: Load): Promise<void> {
  const database = `prototype-${process.pid}-${++databases}`;
  const stores: Store[] = [];
  for (let i = 0; i < replicas; i++) stores.push(await open(variant, database));
  const latencies: number[] = [];
  const each = new Array<number>(replicas).fill(0);
  const client = async (number: number, end: number, told: boolean): Promise<void> => {
    const least = told ? Math.ceil(LEAST_WRITES / clients) : 0;
    const replica = number % replicas;
    const store = stores[replica];
    let revision = 0;
    for (let i = 0; (i < least || performance.now() < end) && store !== undefined; i++) {
      const start = performance.now();
      const name = kind === 'create' ? `c${number}-${told}-${i}` : `c${number}-${told}`;
      const expected = kind === 'create' ? 0 : revision;
      const value = report(name, i);
      const result = await store.write({ resource: RESOURCE, key: `bench/${name}`, expected, value });
      if (result.outcome !== 'committed') throw new Error('a conflict in the bench');
      revision = result.object.revision;
      if (!told) continue;
      latencies.push(performance.now() - start);
      each[replica] = (each[replica] ?? 0) + 1;
    }
  };
  const run = async (millis: number, told: boolean): Promise<void> => {
    await Promise.all(Array.from({ length: clients }, (_, i) => client(i, performance.now() + millis, told)));
  };
  await run(500, false);
  await Promise.all(stores.map((store) => store.settled()));
  const begin = performance.now();
  const cpu = process.cpuUsage();
  const server = mongodCpu();
  await run(SECONDS * 1000, true);
  const seconds = (performance.now() - begin) / 1000;
  await Promise.all(stores.map((store) => store.settled()));
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const n = latencies.length;
  const own = (used.user + used.system) / 1000 / n;
  const theirs = ((mongodCpu() - server) * 1000) / n;
  const rate = `${(n / seconds).toFixed(0)}${replicas > 1 ? ` (${each.join('+')})` : ''}`;
  const cells = [kind, clients, replicas, variant, rate, percentile(latencies, 50), percentile(latencies, 99)];
  const costs = [own, theirs, own + theirs].map((cost) => cost.toFixed(3));
  console.log(`| ${[...cells, ...costs, (loadavg()[0] ?? 0).toFixed(0)].join(' | ')} |`);
  for (const store of stores) await store.close();
}

async function main(): Promise<void> {
  console.log(
    '| write | clients | replicas | variant | writes/s | p50 ms | p99 ms | own CPU ms | mongod | both | load |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|---|');
  const loads: Load[] = [];
  for (const kind of ['create', 'update'] as const) {
    for (const clients of [1, 16, 64]) loads.push({ kind, clients, replicas: 1 });
    for (const clients of [2, 16, 64]) loads.push({ kind, clients, replicas: 2 });
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const load of loads)
      for (const variant of ['today', ...VARIANTS] as const)
        if (ONLY.test(`${load.kind} ${load.clients} ${load.replicas} ${variant}`)) await measure(variant, load);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
