// Creates policy reports modelled on the samples: node examples/generate-reports.mjs KUBECONFIG [COUNT [NAMESPACES]]
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';

const [kubeconfig, count = '10000', namespaces = '50'] = process.argv.slice(2);
if (kubeconfig === undefined) {
  console.error('usage: node examples/generate-reports.mjs KUBECONFIG [COUNT [NAMESPACES]]');
  process.exit(2);
}
const total = Number(count);
const spaces = Number(namespaces);
const WORKERS = 32;

const config = parse(readFileSync(kubeconfig, 'utf8'));
const { server, ...cluster } = config.clusters[0].cluster;
const { user } = config.users[0];
const material = (inline, file) => (inline === undefined ? readFileSync(file) : Buffer.from(inline, 'base64'));
const agent = new Agent({
  keepAlive: true,
  maxSockets: WORKERS,
  ca: material(cluster['certificate-authority-data'], cluster['certificate-authority']),
  cert: material(user['client-certificate-data'], user['client-certificate']),
  key: material(user['client-key-data'], user['client-key']),
});

function post(path, body) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      'User-Agent': 'annex-demo',
    };
    const call = request(server + path, { method: 'POST', agent, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode } = response;
        // 409: created by an earlier run.
        if (statusCode === 201 || statusCode === 409) resolve(statusCode);
        else reject(new Error(`${path}: ${String(statusCode)} ${Buffer.concat(chunks).toString('utf8')}`));
      });
    });
    call.on('error', reject);
    call.end(text);
  });
}

const objects = join(dirname(fileURLToPath(import.meta.url)), 'objects');
const samples = readdirSync(objects)
  .filter((name) => name.startsWith('policyreport-'))
  .map((name) => parse(readFileSync(join(objects, name), 'utf8')));

function report(i) {
  const sample = structuredClone(samples[i % samples.length]);
  const results = (sample.results ?? []).map((result) => ({
    ...result,
    timestamp: { seconds: 1_700_000_000 + i, nanos: 0 },
  }));
  return {
    ...sample,
    metadata: {
      ...sample.metadata,
      name: `report-${String(i).padStart(5, '0')}`,
      labels: { ...sample.metadata.labels, 'demo/shard': String(i % 100) },
    },
    scope: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: `app-${String(i)}`,
      namespace: `team-${String(i % spaces)}`,
    },
    results,
  };
}

let done = 0;
let shown = 0;
function progress(final = false) {
  const now = Date.now();
  if (!final && now - shown < 100) return;
  shown = now;
  const filled = Math.round((30 * done) / total);
  const bar = '█'.repeat(filled) + '░'.repeat(30 - filled);
  process.stderr.write(`\r  ${bar} ${String(done)}/${String(total)} reports${final ? '\n' : ''}`);
}

for (let i = 0; i < spaces; i++) {
  await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `team-${String(i)}` } });
}
let next = 0;
const started = performance.now();
await Promise.all(
  Array.from({ length: WORKERS }, async () => {
    while (next < total) {
      const i = next++;
      await post(`/apis/wgpolicyk8s.io/v1alpha2/namespaces/team-${String(i % spaces)}/policyreports`, report(i));
      done++;
      progress();
    }
  }),
);
progress(true);
const seconds = (performance.now() - started) / 1000;
console.error(`  ${String(total)} reports in ${seconds.toFixed(1)} s, ${(total / seconds).toFixed(0)} per second`);
agent.destroy();
