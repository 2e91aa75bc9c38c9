/**
 * Measures the MongoDB store by itself, without a server: writes per second from one and from two replicas, and how long it takes
 * until another replica emits the event of a write.
 *     hack/with-mongod.sh node test/bench/managedfields-run.mjs test/bench/mongodb.bench.ts [seconds]
 */
import { readFileSync } from 'node:fs';
import { encodeObject } from '../../src/storage/encode.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';

const SECONDS = Number(process.argv[3] ?? 5);
const RESOURCE = 'policyreports.wgpolicyk8s.io';
const uri = process.env['MONGODB_URI'] ?? '';
const mongod = process.env['MONGOD_PID'];
let databases = 0;

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

async function replicas(count: number): Promise<MongoBackend[]> {
  const database = `bench-${process.pid}-${++databases}`;
  const backends = Array.from({ length: count }, () => new MongoBackend({ uri, database }));
  for (const backend of backends) await backend.open();
  return backends;
}

/** Returns the CPU seconds that mongod has used. */
function mongodCpu(): number {
  if (mongod === undefined) return 0;
  const fields = readFileSync(`/proc/${mongod}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const percentile = (sorted: readonly number[], p: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * p) / 100))] ?? 0).toFixed(1);

async function writes(kind: 'create' | 'update', clients: number, count: number): Promise<void> {
  const backends = await replicas(count);
  const latencies: number[] = [];
  const each = new Array<number>(count).fill(0);
  const begin = performance.now();
  const cpu = process.cpuUsage();
  const server = mongodCpu();
  const end = begin + SECONDS * 1000;
  const client = async (number: number): Promise<void> => {
    const replica = number % count;
    const backend = backends[replica];
    let revision = 0;
    for (let i = 0; performance.now() < end && backend !== undefined; i++) {
      const start = performance.now();
      const name = kind === 'create' ? `c${number}-${i}` : `c${number}`;
      const result = await backend.write({
        resource: RESOURCE,
        key: `bench/${name}`,
        expected: kind === 'create' ? 0 : revision,
        value: report(name, i),
      });
      if (result.outcome !== 'committed') throw new Error('a conflict in the bench');
      revision = result.object.revision;
      latencies.push(performance.now() - start);
      each[replica] = (each[replica] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, i) => client(i)));
  const seconds = (performance.now() - begin) / 1000;
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const n = latencies.length;
  console.log(
    `${kind} clients=${clients} replicas=${count}: ${(n / seconds).toFixed(0)}/s (${each.join('+')}), ` +
      `p50 ${percentile(latencies, 50)} ms, p99 ${percentile(latencies, 99)} ms, CPU per write: own ` +
      `${((used.user + used.system) / 1000 / n).toFixed(3)} ms, mongod ${(((mongodCpu() - server) * 1000) / n).toFixed(3)} ms`,
  );
  for (const backend of backends) await backend.close();
}

async function delay(rate: number): Promise<void> {
  const [writer, other] = await replicas(2);
  if (writer === undefined || other === undefined) return;
  const sent = new Map<number, number>();
  const acknowledged = new Map<number, number>();
  const delays: number[] = [];
  const fromAck: number[] = [];
  const controller = new AbortController();
  const reading = (async () => {
    for await (const batch of other.events(1, controller.signal)) {
      const now = performance.now();
      for (const { key, revision } of batch) {
        delays.push(now - (sent.get(Number(key.slice(7))) ?? now));
        fromAck.push(now - (acknowledged.get(revision) ?? now));
      }
    }
  })();
  const begin = performance.now();
  const pending: Promise<unknown>[] = [];
  for (let i = 0; performance.now() < begin + SECONDS * 1000; i++) {
    const start = performance.now();
    sent.set(i, start);
    pending.push(
      writer
        .write({ resource: RESOURCE, key: `bench/c${i}`, expected: 0, value: report(`c${i}`, i) })
        .then((result) => {
          if (result.outcome === 'committed') acknowledged.set(result.object.revision, performance.now());
        }),
    );
    const wait = begin + ((i + 1) * 1000) / rate - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  }
  await Promise.all(pending);
  await new Promise((resolve) => setTimeout(resolve, 500));
  controller.abort();
  await reading;
  delays.sort((a, b) => a - b);
  fromAck.sort((a, b) => a - b);
  console.log(
    `event at another replica, ${rate} writes/s: ${delays.length} of ${pending.length}; since the write began p50 ${percentile(delays, 50)} ms, p99 ` +
      `${percentile(delays, 99)} ms; since its answer p50 ${percentile(fromAck, 50)} ms, p99 ${percentile(fromAck, 99)} ms`,
  );
  await writer.close();
  await other.close();
}

async function main(): Promise<void> {
  for (const kind of ['create', 'update'] as const) for (const clients of [1, 16, 64]) await writes(kind, clients, 1);
  for (const clients of [2, 16, 64]) await writes('create', clients, 2);
  for (const rate of [20, 200]) await delay(rate);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
