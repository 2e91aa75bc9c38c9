// Measures `where`, `orderBy` and `count=exact` over many reports of 2 KiB, beside a list by label and a list of all.
//   node test/bench/asking.mjs [--objects 100000] [--port 6498] [--flags "--cache-budget=…"]
// Each row: the time of the first request and of the same one again, and the CPU of the server, in milliseconds.
import { parseArgs } from 'node:util';
import { BenchServer, DIST } from './server.mjs';

const { values: flags } = parseArgs({
  options: {
    objects: { type: 'string', default: '100000' },
    port: { type: 'string', default: '6498' },
    dist: { type: 'string', default: DIST },
    flags: { type: 'string', default: '' },
  },
});
const OBJECTS = Number(flags.objects);
const CLIENTS = 32;
const server = new BenchServer({ ...flags, flags: flags.flags.split(' ').filter(Boolean), keep: 1 << 20 });
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const REPORTS = '/apis/bench.example.com/v1/reports';

const integer = { type: 'integer' };
const text = { type: 'string' };
const schema = {
  type: 'object',
  properties: {
    summary: { type: 'object', properties: { pass: integer, fail: integer } },
    results: { type: 'array', items: { type: 'object', properties: { policy: text, message: text, result: text } } },
  },
};

const send = (method, path, body) =>
  server.request(method, path, JSON.stringify(body), { 'content-type': 'application/json' });

const reportOf = (i) => ({
  apiVersion: 'bench.example.com/v1',
  kind: 'Report',
  metadata: { name: `report-${i}`, labels: { percent: String(i % 100) } },
  results: Array.from({ length: 12 }, (_, k) => ({
    policy: `policy-${k}`,
    message: `validation error: ${'rule '.repeat(20)}${i}`,
    result: (i + k) % 7 === 0 ? 'fail' : 'pass',
  })),
  summary: { pass: i % 13, fail: (i * 7919) % 1000 },
});

async function fill() {
  let next = 0;
  const client = async () => {
    for (let i = next++; i < OBJECTS; i = next++) {
      const { status } = await send('POST', `/apis/bench.example.com/v1/namespaces/default/reports`, reportOf(i));
      if (status !== 201) throw new Error(`create: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function measure(name, parameters) {
  const path = `${REPORTS}?${new URLSearchParams(parameters).toString()}`;
  const times = [];
  for (let i = 0; i < 4; i++) {
    const [begin, cpu] = [performance.now(), server.cpuMillis()];
    const { status, bytes } = await server.request('GET', path);
    if (status !== 200) throw new Error(`${name}: ${status}`);
    times.push({ wall: performance.now() - begin, cpu: server.cpuMillis() - cpu, bytes });
  }
  const [first, ...again] = times;
  const best = again.reduce((a, b) => (b.wall < a.wall ? b : a));
  const figures = [first.wall, best.wall, first.cpu, best.cpu].map((value) => value.toFixed(0).padStart(8));
  console.log(`${name.padEnd(44)}${figures.join('')}${String(best.bytes).padStart(12)}`);
}

await server.start();
try {
  await send('POST', DEFINITIONS, {
    metadata: { name: 'reports.bench.example.com' },
    spec: {
      group: 'bench.example.com',
      scope: 'Namespaced',
      names: { plural: 'reports', kind: 'Report' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  for (let status = 0; status !== 200;) ({ status } = await server.request('GET', REPORTS));
  await fill();
  console.log(`${String(OBJECTS)} reports${''.padEnd(37)}   first   again cpu 1st cpu agn       bytes`);
  await measure('labelSelector of 1 %', { labelSelector: 'percent=7' });
  await measure('where of 1 %', { where: 'object.summary.fail < 10' });
  await measure('where that parses lists', { where: "object.results.exists(r, r.policy == 'none')" });
  await measure('where with now', { where: "object.metadata.creationTimestamp > now + duration('1h')" });
  await measure('orderBy, limit=20', { orderBy: 'object.summary.fail desc', limit: '20' });
  await measure('orderBy a string, limit=20', { orderBy: 'object.metadata.name desc', limit: '20' });
  await measure('where, count=exact, limit=1', { where: 'object.summary.fail < 10', count: 'exact', limit: '1' });
  await measure('count=exact by label, limit=1', { labelSelector: 'percent=7', count: 'exact', limit: '1' });
} finally {
  await server.stop();
}
