// Measures the cost of a large collection: memory, reads, writes, and a restart.
//   node test/bench/scale.mjs [--objects 1000000] [--namespaces 1000] [--port 6497] [--dist dist/main.js] [--seconds 30]
//   MONGOD_CACHE_GB=4 hack/with-mongod.sh node test/bench/scale.mjs --mongodb …    (on MongoDB, with --cache-dir)
// Starts a server of its own on an empty store, fills it with policy reports of 2 KiB, and prints a table. `RssAnon` is memory not
// backed by a file. It excludes the store's own file, which the kernel keeps in memory as long as there is room.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchServer, DIST, here, pause } from './server.mjs';

const { values: flags } = parseArgs({
  options: {
    objects: { type: 'string', default: '1000000' },
    namespaces: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '30' },
    port: { type: 'string', default: '6497' },
    dist: { type: 'string', default: DIST },
    mongodb: { type: 'boolean', default: false },
    flag: { type: 'string', multiple: true, default: [] },
  },
});
const objects = Number(flags.objects);
const namespaces = Number(flags.namespaces);
const perNamespace = Math.ceil(objects / namespaces);
const crd = JSON.parse(readFileSync(join(here, 'annexbench/crd.json'), 'utf8'));
const { group, names, versions } = crd.spec;
const api = `/apis/${group}/${versions[0].name}`;
const JSON_TYPE = { 'content-type': 'application/json' };
const cacheDir = flags.mongodb ? mkdtempSync(join(tmpdir(), 'annex-bench-')) : undefined;
const onMongodb = [`--mongodb-uri=${process.env['MONGODB_URI']}`, `--cache-dir=${cacheDir}`];
const server = new BenchServer({
  dist: flags.dist,
  port: flags.port,
  flags: [
    '--controllers=',
    '--disable-admission-plugins=ServiceAccount',
    ...(flags.mongodb ? ['--storage-backend=mongodb', ...onMongodb] : []),
    ...flags.flag,
  ],
  keep: 1 << 20,
  monitor: 'eventloop-monitor.mjs',
});

const MERGE = { 'content-type': 'application/merge-patch+json' };
const change = (seq) => JSON.stringify({ spec: { seq: String(seq).padStart(8, '0') } });
const namespaceOf = (i) => `ns-${String(i).padStart(5, '0')}`;
const nameOf = (i) => `report-${String(i).padStart(7, '0')}`;
const collection = (i) => `${api}/namespaces/${namespaceOf(i)}/${names.plural}`;
const path = (i) => `${collection(i % namespaces)}/${nameOf(i)}`;
const rows = [];

function row(what, figure) {
  rows.push([what, figure]);
  console.log(`${what.padEnd(48)} ${figure}`);
}

function report(i, seq = i) {
  return JSON.stringify({
    apiVersion: `${group}/${versions[0].name}`,
    kind: names.kind,
    metadata: {
      name: nameOf(i),
      namespace: namespaceOf(i % namespaces),
      labels: { 'app.kubernetes.io/managed-by': 'policy-engine', bucket: String(i % 100) },
    },
    spec: {
      seq: String(seq).padStart(8, '0'),
      scope: { kind: 'Deployment', name: `app-${String(i)}`, namespace: namespaceOf(i % namespaces) },
      summary: { pass: 3, fail: 1, skip: 0, total: 4 },
      results: Array.from({ length: 4 }, (_, k) => ({
        rule: `check-required-labels-${String(k).padStart(4, '0')}`,
        policy: `require-labels-${String(k).padStart(2, '0')}`,
        result: k === 0 ? 'fail' : 'pass',
        severity: 'low',
        category: 'Pod Security Standards (Baseline)',
        message: `validation rule 'check-required-labels' finished, trace ${'0123456789abcdef'.repeat(4)}`,
        source: 'policy-engine',
        scored: true,
        timestamp: { seconds: 1_700_000_000, nanos: 0 },
      })),
    },
  });
}

/** Retries on 429, as clients do; the server answers it while a type loads, for example. */
async function must(method, target, body, headers) {
  let answer = await server.request(method, target, body, headers);
  for (let again = 0; answer.status === 429 && again < 120; again++) {
    await pause(1000);
    answer = await server.request(method, target, body, headers);
  }
  if (answer.status >= 300 || answer.status === 0) throw new Error(`${method} ${target}: ${String(answer.status)}`);
  return answer;
}

/** Sends requests from `clients` concurrent clients. Latencies are in milliseconds. */
async function run(count, clients, send) {
  const latencies = [];
  const cpu = server.cpuMillis();
  const begun = performance.now();
  let next = 0;
  const client = async () => {
    while (next < count) {
      const i = next++;
      const from = performance.now();
      await send(i);
      latencies.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - begun) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share) => (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(2);
  return {
    rate: count / seconds,
    text: `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, CPU ${((server.cpuMillis() - cpu) / count).toFixed(3)} ms, ${(count / seconds).toFixed(0)}/s`,
  };
}

async function memory() {
  const { heap, external } = await server.ask('report');
  const status = readFileSync(`/proc/${String(server.child.pid)}/status`, 'utf8');
  const of = (name) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024).toFixed(0);
  return `RssAnon ${of('RssAnon')} MB (heap ${heap}, outside of it ${external}), RssFile ${of('RssFile')} MB, peak RSS ${of('VmHWM')} MB`;
}

const random = (below) => Math.floor(Math.random() * below);

async function fill() {
  await must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', JSON.stringify(crd), JSON_TYPE);
  while ((await server.request('GET', `${api}/${names.plural}?limit=1`)).status !== 200) await pause(100);
  await run(namespaces, 16, (i) =>
    must('POST', '/api/v1/namespaces', JSON.stringify({ metadata: { name: namespaceOf(i) } }), JSON_TYPE),
  );
  const part = Math.min(10_000, objects);
  row(`create, 64 clients, the first ${String(part)}`, (await run(part, 64, create)).text);
  row(`get, 1 client, at ${String(part)} objects`, (await run(2000, 1, () => must('GET', path(random(part))))).text);
  const small = Math.ceil(part / namespaces);
  row(
    `list of a namespace (${String(small)} objects), at ${String(part)} objects`,
    (await run(1000, 1, () => must('GET', collection(random(namespaces))))).text,
  );
  for (let done = part; done < objects;) {
    const count = Math.min(objects - done, 100_000);
    const from = done;
    const { text } = await run(count, 64, (i) => create(from + i));
    done += count;
    console.log(`  created ${String(done)} of ${String(objects)}: ${text}; ${await memory()}`);
    if (done === objects) row(`create, 64 clients, the last ${String(count)}`, text);
  }
}

const create = (i) => must('POST', collection(i % namespaces), report(i), JSON_TYPE);

async function read(when) {
  row(`get, 1 client${when}`, (await run(3000, 1, () => must('GET', path(random(objects))))).text);
  row(
    `get resourceVersion=0, 1 client${when}`,
    (await run(3000, 1, () => must('GET', `${path(random(objects))}?resourceVersion=0`))).text,
  );
  row(
    `list of a namespace (${String(perNamespace)} objects)${when}`,
    (await run(500, 1, () => must('GET', collection(random(namespaces))))).text,
  );
  row(`page of 500 of all${when}`, (await run(100, 1, () => must('GET', `${api}/${names.plural}?limit=500`))).text);
  row(
    `1 % of a namespace by label${when}`,
    (await run(300, 1, () => must('GET', `${collection(random(namespaces))}?labelSelector=bucket%3D7`))).text,
  );
}

/** Runs writes, watchers, and lists concurrently. The monitor reports the longest turn of the event loop. */
async function mixed() {
  const seconds = Number(flags.seconds);
  const watchers = [];
  let events = 0;
  for (let i = 0; i < 100; i++) {
    const stream = server.session.request({
      ':method': 'GET',
      ':path': `${collection(i % namespaces)}?watch=true&timeoutSeconds=${String(seconds + 10)}`,
      authorization: 'Bearer secret',
    });
    stream.on('data', () => events++);
    stream.on('error', () => undefined);
    watchers.push(stream);
  }
  await pause(500);
  await server.ask('report');
  const end = performance.now() + seconds * 1000;
  let writes = 0;
  let lists = 0;
  const begun = performance.now();
  const writer = async () => {
    while (performance.now() < end) {
      const ahead = writes - (performance.now() - begun);
      if (ahead > 0) await pause(ahead);
      writes++;
      const i = random(objects);
      await must('PATCH', path(i), change(writes), MERGE);
    }
  };
  const lister = async () => {
    while (performance.now() < end) {
      lists++;
      await must('GET', collection(random(namespaces)));
    }
  };
  const cpu = server.cpuMillis();
  await Promise.all([...Array.from({ length: 32 }, writer), lister()]);
  const { gap, cpu: turn } = await server.ask('report');
  for (const stream of watchers) stream.close();
  const used = ((server.cpuMillis() - cpu) / (seconds * 10)).toFixed(0);
  row(
    'writes, 100 watchers and lists together',
    `${(writes / seconds).toFixed(0)} writes/s, ${(lists / seconds).toFixed(1)} lists/s, ${String(events)} events, ${used} % of a core, longest turn ${String(turn)} ms of CPU (${String(gap)} ms)`,
  );
}

/** Waits until the watch cache holds all objects of the type. */
async function loaded() {
  const cached = new RegExp(`^apiserver_storage_objects\\{resource="${names.plural}\\.${group}"\\} (\\d+)`, 'm');
  for (;;) {
    const { text } = await server.request('GET', '/metrics');
    if (Number(cached.exec(text)?.[1] ?? 0) >= objects) return;
    await pause(200);
  }
}

/** `how` names the way in which the server ends. */
async function restart(how, end) {
  await end();
  const begun = performance.now();
  const since = () => `${((performance.now() - begun) / 1000).toFixed(2)} s`;
  await server.start();
  const cpu = server.cpuMillis();
  row(`${how}: ready after`, since());
  await must('GET', collection(random(namespaces)));
  row(`${how}: first list of a namespace after`, since());
  row(`${how}: get in the first seconds`, (await run(100, 1, () => must('GET', path(random(objects))))).text);
  await loaded();
  row(`${how}: all objects known after`, `${since()}, CPU ${((server.cpuMillis() - cpu) / 1000).toFixed(1)} s`);
  await pause(5000);
  row(`${how}: memory`, await memory());
}

await server.start();
try {
  await fill();
  row('memory when filled', await memory());
  // MongoDB still writes objects to its files, and Annex to the projection.
  if (flags.mongodb) await pause(20_000);
  await read('');
  row('memory after reads', await memory());
  row(
    'merge patch, 16 clients',
    (
      await run(20_000, 16, () => {
        const i = random(objects);
        return must('PATCH', path(i), change(i + 1), MERGE);
      })
    ).text,
  );
  await mixed();
  row('memory after all', await memory());
  // The file beside MongoDB was saved at most 30 s ago.
  if (flags.mongodb) await pause(35_000);
  await restart('restart', () => server.stop());
  await restart('kill -9', () => server.kill());
  await read(', after the restarts');
  row('memory at the end', await memory());
} finally {
  await server.dispose();
  if (cacheDir !== undefined) rmSync(cacheDir, { recursive: true, force: true });
}
console.log(`\n| ${String(objects)} objects in ${String(namespaces)} namespaces | |\n|---|---|`);
for (const [what, figure] of rows) console.log(`| ${what} | ${figure} |`);
