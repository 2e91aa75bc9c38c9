// Draws the dashboards as docs/pictures/dashboard-*.svg: node hack/dashboard-pictures.mjs [SECONDS]
// Annex runs under load, a real Prometheus scrapes it, and the queries of each panel are drawn. Needs what hack/tools/prometheus.sh finds.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const SECONDS = Number(process.argv[2] ?? 90);
const TOKEN = 'pictures';
const GROUP = 'wgpolicyk8s.io';
const folder = mkdtempSync(join(tmpdir(), 'annex-pictures-'));
const children = [];
const tools = spawnSync(join(root, 'hack/tools/prometheus.sh'), { encoding: 'utf8' });
if (tools.status !== 0) throw new Error(tools.stderr);

const file = (name, content) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

function start(command, args, pattern) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  return new Promise((resolve, reject) => {
    let out = '';
    const hear = (text) => {
      out += text;
      const found = pattern.exec(out);
      if (found !== null) resolve(found[1]);
    };
    child.stdout.setEncoding('utf8').on('data', hear);
    child.stderr.setEncoding('utf8').on('data', hear);
    child.once('exit', () => reject(new Error(out)));
  });
}

const agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false });
let port = 0;
function call(method, path, body, type = 'application/json') {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type };
    const sent = request({ host: '127.0.0.1', port, path, method, agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const REPORTS = `/apis/${GROUP}/v1alpha2/namespaces/default/policyreports`;
const report = (i) => ({
  apiVersion: `${GROUP}/v1alpha2`,
  kind: 'PolicyReport',
  metadata: { name: `report-${i}`, labels: { shard: String(i % 10) } },
  summary: { pass: i % 50, fail: i % 3 },
  results: Array.from({ length: 8 }, (_, k) => ({ policy: `policy-${k}`, rule: 'check', result: k % 3 === 0 ? 'fail' : 'pass' })),
});

/** Sends requests in waves, so that the curves have a shape. */
async function load(until) {
  let made = 0;
  const worker = async () => {
    while (Date.now() < until) {
      const i = made++;
      await call('POST', REPORTS, report(i));
      await call('GET', `${REPORTS}/report-${i}`);
      await call('PATCH', `${REPORTS}/report-${i}`, { summary: { pass: 1 } }, 'application/merge-patch+json');
      if (i % 10 === 0) await call('GET', `${REPORTS}?labelSelector=shard%3D3`);
      if (i % 25 === 0) await call('GET', REPORTS);
      if (i % 17 === 0) await call('GET', `${REPORTS}/absent`);
      if (i % 4 === 0) await call('DELETE', `${REPORTS}/report-${i}`);
      const wave = 1 + Math.sin(Date.now() / 6000);
      await new Promise((resolve) => setTimeout(resolve, 10 + 60 * wave));
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return made;
}

const VALUES = { job: 'annex', instance: '.*', group: GROUP, resource: 'policyreports', __rate_interval: '10s', interval: '5s' };
const filledIn = (expr) => expr.replace(/\$(\w+)/g, (_, name) => VALUES[name] ?? `$${name}`);

async function series(url, targets) {
  const found = [];
  for (const { expr, legendFormat } of targets) {
    const end = Date.now() / 1000;
    const body = new URLSearchParams({ query: filledIn(expr), start: String(end - SECONDS), end: String(end), step: '2' });
    const answer = await (await fetch(`${url}/api/v1/query_range`, { method: 'POST', body })).json();
    for (const { metric, values } of answer.data.result) {
      const points = values.map(([time, value]) => [time - end + SECONDS, Number(value)]).filter(([, value]) => Number.isFinite(value));
      const name = legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => (label === 'instance' ? 'annex-0' : (metric[label] ?? '')));
      if (points.length > 0) found.push({ name, points });
    }
  }
  return found;
}

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const COLOURS = ['#7eb26d', '#eab839', '#6ed0e0', '#ef843c', '#e24d42', '#1f78c1', '#ba43a9', '#705da0'];
const [WIDE, HIGH, ACROSS] = [360, 190, 3];

/** Formats a number with three significant digits, in the largest of the steps [factor, suffix] that it reaches. */
function scaled(value, steps) {
  const [factor, suffix] = steps.find(([least]) => value >= least) ?? steps.at(-1);
  const rounded = Number((value / factor).toPrecision(3));
  return `${rounded}${suffix}`;
}
const COUNTS = [[1e9, ' G'], [1e6, ' M'], [1e3, ' k'], [1, '']];
const BYTES = [[1e9, ' GB'], [1e6, ' MB'], [1e3, ' kB'], [1, ' B']];
const TIMES = [[1, ' s'], [1e-3, ' ms'], [1e-6, ' µs']];

function shown(value, unit) {
  if (unit === 'percentunit') return `${Number((value * 100).toPrecision(3))} %`;
  if (unit === 's') return scaled(value, TIMES);
  return scaled(value, /bytes|Bps/i.test(unit ?? '') ? BYTES : COUNTS);
}

/** The width of an average character in the legend, slightly more than in most fonts. */
const CHARACTER = 6.1;
const SQUARE = 15;

/** Returns the names that fit on one line, and the number of those that do not. */
function legend(lines) {
  const room = WIDE - 30;
  const fitting = [];
  let used = 0;
  for (const [i, { name }] of lines.slice(0, COLOURS.length).entries()) {
    const label = name.length > 26 ? `${name.slice(0, 25)}…` : name;
    const width = SQUARE + (label.length + 2) * CHARACTER;
    const reserve = i < lines.length - 1 ? 9 * CHARACTER : 0;
    if (used + width + reserve > room) break;
    used += width;
    fitting.push(`<tspan fill="${COLOURS[i]}">■ </tspan><tspan>${escape(label)}  </tspan>`);
  }
  const left = lines.length - fitting.length;
  return `${fitting.join('')}${left > 0 ? `<tspan>+ ${left} more</tspan>` : ''}`;
}

function draw({ title, fieldConfig }, lines, x, y) {
  const unit = fieldConfig?.defaults?.unit;
  const top = Math.max(...lines.flatMap(({ points }) => points.map(([, value]) => value)), 0);
  // Leaves room above the highest point, so that a line there does not run into the frame.
  const scale = top === 0 ? 1 : top * 1.08;
  const at = ([time, value]) => `${(x + 62 + (time / SECONDS) * (WIDE - 78)).toFixed(1)},${(y + HIGH - 44 - (value / scale) * (HIGH - 80)).toFixed(1)}`;
  const curves = lines.slice(0, COLOURS.length).map(({ points }, i) => `<polyline points="${points.map(at).join(' ')}" stroke="${COLOURS[i]}"/>`);
  const height = (value) => y + HIGH - 44 - (value / scale) * (HIGH - 80);
  const mark = (value, text) =>
    `<text class="n" x="${x + 56}" y="${(height(value) + 4).toFixed(1)}">${text}</text><line x1="${x + 62}" x2="${x + WIDE - 16}" y1="${height(value).toFixed(1)}" y2="${height(value).toFixed(1)}"/>`;
  return `<g><rect x="${x + 4}" y="${y + 4}" width="${WIDE - 8}" height="${HIGH - 8}"/>
<text class="h" x="${x + 14}" y="${y + 24}">${escape(title)}</text>
${mark(0, '0')}${top === 0 ? '' : mark(top, shown(top, unit))}
${curves.join('')}
<text x="${x + 14}" y="${y + HIGH - 18}">${legend(lines)}</text></g>`;
}

async function picture(name, url) {
  const { panels } = JSON.parse(readFileSync(join(root, `charts/annex/files/dashboards/${name}.json`), 'utf8'));
  const parts = [];
  let [column, y] = [0, 10];
  let heading;
  for (const panel of panels) {
    if (panel.type === 'row') {
      heading = panel.title;
      continue;
    }
    const lines = await series(url, panel.targets);
    if (lines.length === 0) continue;
    if (heading !== undefined) {
      if (column > 0) y += HIGH;
      column = 0;
      parts.push(`<text class="r" x="10" y="${y + 20}">${escape(heading)}</text>`);
      y += 30;
      heading = undefined;
    }
    parts.push(draw(panel, lines, 6 + column * WIDE, y));
    column = (column + 1) % ACROSS;
    if (column === 0) y += HIGH;
  }
  const [width, height] = [ACROSS * WIDE + 12, y + (column > 0 ? HIGH : 0) + 10];
  mkdirSync(join(root, 'docs/pictures'), { recursive: true });
  writeFileSync(
    join(root, `docs/pictures/dashboard-${name}.svg`),
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="The dashboard Annex / ${name}">
<style>text{font:11px system-ui,sans-serif;fill:#9fa7b3;white-space:pre}.h{font-size:13px;fill:#d8d9da}.n{text-anchor:end}.r{font-size:15px;fill:#d8d9da;font-weight:bold}
g rect{fill:#1f1f23;stroke:#2c3235;rx:3px}polyline{fill:none;stroke-width:1.4}line{stroke:#3a3f44}</style>
<rect width="100%" height="100%" fill="#141619"/>
${parts.join('\n')}
</svg>
`,
  );
  console.log(`docs/pictures/dashboard-${name}.svg`);
}

try {
  const tokens = file('tokens.csv', `${TOKEN},pictures,pictures,system:masters\n`);
  const args = ['serve', '--data-dir', join(folder, 'data'), '--bind-address', '127.0.0.1', '--secure-port', '0', '--token-auth-file', tokens];
  port = Number(await start(process.execPath, [join(root, 'dist/main.js'), ...args], /127\.0\.0\.1:(\d+)\./));
  const crd = spawnSync(process.execPath, ['-e', `const { parse } = require('yaml'); process.stdout.write(JSON.stringify(parse(require('fs').readFileSync('examples/crds/wgpolicyk8s.io_policyreports.yaml', 'utf8'))))`], { cwd: root, encoding: 'utf8' }).stdout;
  await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', JSON.parse(crd));
  while ((await call('GET', REPORTS)) !== 200) await new Promise((resolve) => setTimeout(resolve, 100));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: [
      {
        job_name: 'annex',
        scheme: 'https',
        authorization: { credentials: TOKEN },
        tls_config: { insecure_skip_verify: true },
        static_configs: [{ targets: [`127.0.0.1:${port}`] }],
      },
    ],
  };
  const flags = ['--config.file', file('prometheus.yaml', JSON.stringify(config)), '--storage.tsdb.path', join(folder, 'series')];
  const listening = await start(join(tools.stdout.trim(), 'prometheus'), [...flags, '--web.listen-address', '127.0.0.1:0'], /Listening on.*127\.0\.0\.1:([1-9]\d*)/);
  // Starts watchers, for the panels that show them.
  for (let i = 0; i < 5; i++) request({ host: '127.0.0.1', port, path: `${REPORTS}?watch=true`, rejectUnauthorized: false, headers: { authorization: `Bearer ${TOKEN}` } }, (response) => response.resume()).on('error', () => undefined).end();
  const end = Date.now() + SECONDS * 1000;
  const ticker = setInterval(() => process.stderr.write(`\r${Math.max(0, Math.round((end - Date.now()) / 1000))} s to go  `), 1000);
  const made = await load(end);
  clearInterval(ticker);
  process.stderr.write(`\r${made} reports     \n`);
  for (const name of ['operations', 'types']) await picture(name, `http://127.0.0.1:${listening}`);
} finally {
  for (const child of children) {
    child.removeAllListeners('exit');
    child.kill('SIGKILL');
  }
  agent.destroy();
  setTimeout(() => rmSync(folder, { recursive: true, force: true }), 500);
}
process.exitCode = 0;
setTimeout(() => process.exit(), 1000);
