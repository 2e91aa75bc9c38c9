// Measures the CPU of the server per create, update, merge patch, and apply of objects of 2 and 20 KiB.
//   node test/bench/writes.mjs [--dist dist/main.js,other/dist/main.js] [--rounds 3] [--operations 1500] [--port 6496]
// Starts each program on an empty store of its own, alternates between them, and prints the lowest CPU and the median latency of all
// rounds: on a shared machine, times vary more than CPU. 16 requests are in flight at a time.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchServer, DIST, here, pause } from './server.mjs';

const { values: flags } = parseArgs({
  options: {
    dist: { type: 'string', default: DIST },
    rounds: { type: 'string', default: '3' },
    operations: { type: 'string', default: '1500' },
    port: { type: 'string', default: '6496' },
  },
});
const CLIENTS = 16;
const crd = JSON.parse(readFileSync(join(here, 'annexbench/crd.json'), 'utf8'));
const { group, names, versions } = crd.spec;
const path = `/apis/${group}/${versions[0].name}/namespaces/default/${names.plural}`;

const request = (server, method, target, body, type = 'application/json') =>
  server.request(method, target, body, { 'content-type': type });

function object(name, items, seq) {
  return {
    apiVersion: `${group}/${versions[0].name}`,
    kind: names.kind,
    metadata: { name, namespace: 'default', labels: { 'app.kubernetes.io/managed-by': 'policy-engine', bucket: '7' } },
    spec: {
      seq: String(seq).padStart(8, '0'),
      scope: { kind: 'Deployment', name: 'app-1', namespace: 'default' },
      summary: { pass: items - 1, fail: 1, skip: 0, total: items },
      results: Array.from({ length: items }, (_, i) => ({
        rule: `check-required-labels-${String(i).padStart(4, '0')}`,
        policy: `require-labels-${String(i % 20).padStart(2, '0')}`,
        result: i === 0 ? 'fail' : 'pass',
        severity: 'low',
        category: 'Pod Security Standards (Baseline)',
        message: `validation rule 'check-required-labels' finished, trace ${'0123456789abcdef'.repeat(4)}`,
        source: 'policy-engine',
        scored: true,
        timestamp: { seconds: 1_700_000_000, nanos: 0 },
      })),
    },
  };
}

/** `send` gets the number of the operation, and of its object. */
async function measure(server, operations, send) {
  const latencies = [];
  const before = server.cpuMillis();
  let next = 0;
  const client = async () => {
    while (next < operations) {
      const i = next++;
      const from = performance.now();
      const { status, text } = await send(i);
      latencies.push(performance.now() - from);
      if (status >= 300) throw new Error(`${String(status)}: ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  latencies.sort((a, b) => a - b);
  return { cpu: (server.cpuMillis() - before) / operations, p50: latencies[latencies.length >> 1] };
}

async function round(server, number, results) {
  for (const [label, items, divisor] of [
    ['2 KiB', 4, 1],
    ['20 KiB', 46, 4],
  ]) {
    const count = Math.ceil(Number(flags.operations) / divisor);
    const name = (i) => `r${String(number)}-${String(items)}-${String(i)}`;
    const one = (i) => `${path}/${name(i)}`;
    const versionsOf = [];
    const cases = {
      create: async (i) => {
        const answer = await request(server, 'POST', path, JSON.stringify(object(name(i), items, i)));
        versionsOf[i] = JSON.parse(answer.text).metadata?.resourceVersion;
        return answer;
      },
      update: (i) => {
        const body = object(name(i), items, i + 1);
        body.metadata.resourceVersion = versionsOf[i];
        return request(server, 'PUT', one(i), JSON.stringify(body));
      },
      'merge patch': (i) =>
        request(
          server,
          'PATCH',
          one(i),
          JSON.stringify({ spec: { seq: String(i + 2).padStart(8, '0') } }),
          'application/merge-patch+json',
        ),
      'first apply': (i) => apply(i, 3),
      'apply of a change': (i) => apply(i, 4),
      'apply of the same': (i) => apply(i, 4),
    };
    const apply = (i, by) => {
      const body = JSON.stringify(object(name(i), items, i + by));
      return request(server, 'PATCH', `${one(i)}?fieldManager=bench&force=true`, body, 'application/apply-patch+yaml');
    };
    for (const [kind, send] of Object.entries(cases)) {
      const measured = await measure(server, count, send);
      const key = `${kind}, ${label}`;
      const best = results.get(key) ?? { cpu: Infinity, p50: Infinity };
      results.set(key, { cpu: Math.min(best.cpu, measured.cpu), p50: Math.min(best.p50, measured.p50) });
    }
  }
}

const servers = flags.dist.split(',').map((dist, i) => ({
  server: new BenchServer({
    dist: resolve(dist),
    port: Number(flags.port) + i,
    flags: ['--max-mutating-requests-inflight=1000'],
    keep: 1 << 20,
  }),
  results: new Map(),
}));
try {
  for (const { server } of servers) {
    await server.start();
    await request(server, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', JSON.stringify(crd));
    while ((await request(server, 'GET', path)).status !== 200) await pause(100);
  }
  for (let number = 0; number < Number(flags.rounds); number++) {
    for (const { server, results } of servers) await round(server, number, results);
  }
  const columns = servers.map(({ server: { dist } }) => ` CPU ms/op, p50 ms: ${dist} |`).join('');
  process.stdout.write(`| write |${columns}\n|---|${'---|'.repeat(servers.length)}\n`);
  for (const key of servers[0].results.keys()) {
    const cells = servers.map(({ results }) => {
      const { cpu, p50 } = results.get(key);
      return ` ${cpu.toFixed(2)}, ${p50.toFixed(1)} |`;
    });
    process.stdout.write(`| ${key} |${cells.join('')}\n`);
  }
} finally {
  for (const { server } of servers) await server.dispose();
}
