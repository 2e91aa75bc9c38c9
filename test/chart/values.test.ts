import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { isObject, type JsonObject, type JsonValue } from '../../src/apimachinery/json/json.js';

const root = resolve(__dirname, '../..');
const chart = join(root, 'charts/annex');
const helm = join(process.env['ANNEX_TOOLS_DIR'] ?? join(root, '.cache/tools'), 'helm');
const read = (name: string): JsonObject => parse(readFileSync(join(chart, name), 'utf8')) as JsonObject;

function leavesOf(tree: JsonObject, path: readonly string[] = []): [string, JsonValue][] {
  return Object.entries(tree).flatMap(([key, value]): [string, JsonValue][] => {
    const at = [...path, key];
    if (value !== undefined && isObject(value) && Object.keys(value).length > 0) return leavesOf(value, at);
    return [[at.join('.'), value ?? null]];
  });
}

const defaults = leavesOf(read('values.yaml'));
/** Keys set by a file of charts/annex/ci, whose rendering is recorded. */
const rendered = new Set(
  readdirSync(join(chart, 'ci')).flatMap((name) => leavesOf(read(`ci/${name}`)).map(([key]) => key)),
);
const isRendered = (key: string): boolean =>
  rendered.has(key) || [...rendered].some((one) => one.startsWith(`${key}.`));

const WITH: Readonly<Record<string, readonly string[]>> = {
  'storage.embedded': ['storage.backend=embedded', 'replicas=1'],
  autoscaling: ['autoscaling.enabled=true'],
  'certificates.secretName': ['certificates.mode=secret'],
  'audit.logPath': ['audit.policy.kind=Policy'],
  'encryption.key': ['encryption.secretName=keys'],
  'networkPolicy.egress': ['networkPolicy.egress.enabled=true'],
  serviceMonitor: ['serviceMonitor.enabled=true'],
  prometheusRule: ['prometheusRule.enabled=true'],
  dashboards: ['dashboards.enabled=true'],
  adoption: ['adoption.groups={wgpolicyk8s.io}'],
  'backup.upload': ['backup.enabled=true', 'backup.upload.image=uploader'],
  backup: ['backup.enabled=true'],
};

const text = (value: JsonValue): string => (typeof value === 'string' ? value : '');

/** Substitutes for values of which not every other value of the same type is allowed. */
const OTHERS: Readonly<Record<string, string>> = {
  'image.pullPolicy': 'Always',
  'service.type': 'NodePort',
  'autoscaling.metrics': '[{"type":"Pods"}]',
  'backup.upload.command': '["upload"]',
  'backup.upload.args': '["upload"]',
  'backup.upload.env': '[{"name":"A","value":"b"}]',
  'backup.upload.envFrom': '[{"secretRef":{"name":"a"}}]',
};

function another(key: string, value: JsonValue): string {
  const given = OTHERS[key];
  if (given !== undefined) return given;
  if (typeof value === 'boolean') return String(!value);
  if (typeof value === 'number') return String(value + 1);
  if (Array.isArray(value))
    return JSON.stringify(value.map((one) => (typeof one === 'number' ? one + 1 : `${text(one)}2`)));
  if (key === 'storage.embedded.size') return '20Gi';
  return `${text(value)}other`;
}

const rest = defaults.filter(([key]) => !isRendered(key));

const title = 'values that no golden sets';
(existsSync(helm) ? describe : describe.skip)(existsSync(helm) ? title : `${title} (skipped: no helm)`, () => {
  const render = (settings: readonly string[], json: readonly string[] = []): string => {
    const flags = [...settings.flatMap((one) => ['--set', one]), ...json.flatMap((one) => ['--set-json', one])];
    const args = ['template', 'annex', chart, '--namespace', 'annex-system', '--kube-version', '1.37.2', ...flags];
    const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  const before = new Map<string, string>();

  test.each(rest)('%s changes what is rendered', (key, value) => {
    const settings = Object.entries(WITH).find(([prefix]) => key === prefix || key.startsWith(`${prefix}.`))?.[1] ?? [];
    const base = settings.join();
    if (!before.has(base)) before.set(base, render(settings));
    const other = another(key, value);
    const json = typeof value === 'string' ? [] : [`${key}=${other}`];
    expect(render([...settings, ...(json.length > 0 ? [] : [`${key}=${other}`])], json)).not.toBe(before.get(base));
  });
});
