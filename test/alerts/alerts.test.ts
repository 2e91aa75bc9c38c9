import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';

const root = resolve(__dirname, '../..');
const file = join(root, 'charts/annex/files/alerts.yaml');

interface Rule {
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

const { groups } = parse(readFileSync(file, 'utf8')) as { groups: { name: string; rules: Rule[] }[] };
const alerts = groups
  .flatMap(({ rules }) => rules)
  .filter((rule): rule is Rule & { alert: string } => rule.alert !== undefined);
const found = spawnSync(join(root, 'hack/tools/prometheus.sh'), { encoding: 'utf8' });
const promtool = found.status === 0 ? join(found.stdout.trim(), 'promtool') : undefined;

test.each([...new Set(alerts.map(({ alert }) => alert))])('%s has a runbook with all sections', (alert) => {
  const text = readFileSync(join(root, `docs/runbooks/${alert}.md`), 'utf8');
  for (const part of [`# ${alert}`, '## Meaning', '## Impact', '## Diagnosis', '## Mitigation'])
    expect(text).toContain(`${part}\n`);
  expect(readFileSync(join(root, 'docs/runbooks/README.md'), 'utf8')).toContain(`(${alert}.md)`);
});

test.each(alerts.map((rule) => [rule.alert, rule] as const))(
  '%s has a severity, a summary and a description',
  (_, rule) => {
    expect(rule.labels?.['severity']).toMatch(/^(critical|warning)$/);
    expect(rule.annotations?.['summary']).not.toBe('');
    expect(rule.annotations?.['description']).not.toBe('');
  },
);

test('the metrics in the rules exist', () => {
  const known = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  const asked = alerts.flatMap(({ expr }) =>
    [...expr.matchAll(/\b(?:annex|apiserver|etcd|kubernetes)_[a-z0-9_]+/g)].map(([name]) => name),
  );
  const missing = asked.filter(
    (name) => !known.includes(`\`${name.replace(/_(bucket|count|sum)$/, '')}\``) && !known.includes(`\`${name}\``),
  );
  expect(missing).toEqual([]);
});

(promtool === undefined ? describe.skip : describe)('promtool', () => {
  test('each alert fires after its time, and resolves', () => {
    const folder = mkdtempSync(join(tmpdir(), 'annex-alerts-'));
    try {
      // Annotations are removed, because the tests compare labels only.
      const bare = groups.map((group) => ({ ...group, rules: group.rules.map(({ annotations: _, ...rule }) => rule) }));
      writeFileSync(join(folder, 'alerts.yaml'), stringify({ groups: bare }));
      copyFileSync(join(__dirname, 'rules.test.yaml'), join(folder, 'rules.test.yaml'));
      const { status, stdout, stderr } = spawnSync(promtool ?? '', ['test', 'rules', join(folder, 'rules.test.yaml')], {
        encoding: 'utf8',
      });
      expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('every alert has a test in which it fires', () => {
    const tests = parse(readFileSync(join(__dirname, 'rules.test.yaml'), 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
    };
    const firing = tests.tests
      .flatMap((one) => one.alert_rule_test)
      .filter(({ exp_alerts }) => exp_alerts !== undefined);
    expect(new Set(firing.map(({ alertname }) => alertname))).toEqual(new Set(alerts.map(({ alert }) => alert)));
  });

  test('the annotations render', () => {
    const { status, stdout } = spawnSync(promtool ?? '', ['check', 'rules', file], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, expect.stringContaining('rules found')]);
  });
});

test('the chart has every alert', () => {
  expect(existsSync(join(root, 'test/chart/golden/full.yaml'))).toBe(true);
  const rendered = readFileSync(join(root, 'test/chart/golden/full.yaml'), 'utf8');
  const missing = alerts.filter(({ alert }) => !rendered.includes(`alert: ${alert}\n`)).map(({ alert }) => alert);
  // The values of that golden file omit this alert.
  expect(missing).toEqual(['AnnexMemoryNearLimit']);
});
