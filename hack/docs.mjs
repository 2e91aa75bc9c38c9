// Writes docs/flags.md and docs/metrics.md from the built program: node hack/docs.mjs
// With --check it writes nothing, and fails if a file is out of date.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { AggregationMetrics, registerExpiryMetric } from '../dist/server/metrics/aggregation-metrics.js';
import { FLAGS } from '../dist/server/options/options.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const cell = (text) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim();

function flags() {
  const groups = new Map();
  for (const flag of Object.values(FLAGS)) groups.set(flag.group, [...(groups.get(flag.group) ?? []), flag]);
  const parts = ['# Flags of `annex serve`', ''];
  parts.push(
    'Flags that kube-apiserver also has have the same names and meanings. Separate the items of a list with commas, or repeat the flag. Durations are written as in Go (`1m30s`).',
  );
  for (const [group, members] of groups) {
    parts.push('', `## ${group.replace(/ flags:$/, '')}`, '', '| flag | default | meaning |', '|---|---|---|');
    for (const { name, kind, default: value, help } of members) {
      const shown = kind.show(value);
      const flag = name === 'v' ? '-v, --v' : `--${name}`;
      const [meaning, ...options] = help.split('\n');
      const more = options.length === 0 ? '' : ` ${options.map((option) => `\`${cell(option)}\``).join(', ')}`;
      parts.push(
        `| \`${flag}${kind.placeholder === '' ? '' : ` ${kind.placeholder}`}\` | ${shown === undefined ? '' : `\`${cell(shown)}\``} | ${cell(meaning)}${more} |`,
      );
    }
  }
  return `${parts.join('\n')}\n`;
}

function get(options) {
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part));
      response.on('end', () => resolve(text));
    });
    call.on('error', reject);
    call.end();
  });
}

/** Configuration files without which some metrics are missing. */
const CONFIGURATION = {
  'encryption-provider-config': {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers: [{ identity: {} }] }],
  },
  'authentication-config': { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' },
  'audit-policy-file': { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] },
};

/** Returns what a running server serves at /metrics. */
async function exposition() {
  const folder = mkdtempSync(join(tmpdir(), 'annex-docs-'));
  writeFileSync(join(folder, 'tokens.csv'), 'docs,docs,docs,system:masters\n');
  const args = ['serve', '--data-dir', join(folder, 'data'), '--secure-port', '0', '--bind-address', '127.0.0.1'];
  args.push('--audit-log-path', join(folder, 'audit.log'));
  for (const [flag, content] of Object.entries(CONFIGURATION)) {
    writeFileSync(join(folder, flag), JSON.stringify(content));
    args.push(`--${flag}`, join(folder, flag));
  }
  const child = spawn(process.execPath, [
    join(root, 'dist/main.js'),
    ...args,
    '--token-auth-file',
    join(folder, 'tokens.csv'),
  ]);
  try {
    const port = await new Promise((resolve, reject) => {
      let out = '';
      child.stdout.on('data', (part) => {
        out += part;
        const found = /127\.0\.0\.1:(\d+)\./.exec(out);
        if (found !== null) resolve(Number(found[1]));
      });
      child.stderr.on('data', (part) => (out += part));
      child.on('exit', () => reject(new Error(out)));
    });
    const ca = readFileSync(join(folder, 'data/ca.crt'));
    const text = await get({
      host: '127.0.0.1',
      port,
      path: '/metrics',
      ca,
      headers: { authorization: 'Bearer docs' },
    });
    return { text, ca };
  } finally {
    const gone = new Promise((resolve) => child.on('exit', resolve));
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the metrics of a server that extends a cluster. `cert` may be any certificate. */
function extension(cert) {
  const registry = new Registry();
  new AggregationMetrics({ registry, logger: undefined, clock: undefined });
  registerExpiryMetric(() => cert, registry);
  return registry.metrics();
}

/** The default metrics of prom-client, which differ from platform to platform. */
const USUAL = /^(process|nodejs)_/;

async function metrics() {
  const found = new Map();
  const { text, ca } = await exposition();
  for (const line of [...text.split('\n'), ...(await extension(ca)).split('\n')]) {
    const match = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (match === null || USUAL.test(match[2])) continue;
    const entry = found.get(match[2]) ?? {};
    entry[match[1]] = match[3];
    found.set(match[2], entry);
  }
  const lines = [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { HELP, TYPE }]) => `| \`${name}\` | ${TYPE} | ${cell(HELP)} |`);
  return [
    '# Metrics at `/metrics`',
    '',
    'In the Prometheus text format. Metrics that kube-apiserver also has have the same names and labels; metrics of the store have',
    'the names of the corresponding metrics of etcd. The `process_*` and `nodejs_*` metrics of every Node program are served too.',
    '',
    '| metric | type | meaning |',
    '|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}

const check = process.argv.includes('--check');
for (const [name, text] of [
  ['flags.md', flags()],
  ['metrics.md', await metrics()],
]) {
  const path = join(root, 'docs', name);
  if (!check) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`docs/${name} is out of date: run 'make docs'`);
    process.exitCode = 1;
  }
}
