import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { ADMIN, eventually, ROOT } from '../integration/server.js';

/** Returns the folder with promtool and prometheus, or why it is missing. */
export function findPrometheus(): { readonly path: string } | { readonly missing: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'hack/tools/prometheus.sh'), { encoding: 'utf8' });
  return status === 0 ? { path: stdout.trim() } : { missing: stderr.trim().split('\n').at(-1) ?? 'no Prometheus' };
}

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
}

/** Durations in rules, and shorter ones for these tests. */
const SHORTER: readonly (readonly [RegExp, string])[] = [
  // Ranges of last_over_time must reach back hours, so they stay.
  [/(?<!last_over_time\([^)]*)\[\d+[smh]\]/g, '[10s]'],
  [/> (300|900)$/, '> 8'],
];

/** Shortens the time windows of the chart's rules, so that what takes minutes takes seconds. */
export function hasty(rules: string): string {
  const { groups } = parse(rules) as { groups: { name: string; rules: Rule[] }[] };
  const quick = (rule: Rule): Rule => ({
    ...rule,
    expr: SHORTER.reduce((expr, [pattern, by]) => expr.replace(pattern, by), rule.expr.trim()),
    ...(rule.for !== undefined && { for: '1s' }),
  });
  return stringify({ groups: groups.map((group) => ({ ...group, rules: group.rules.map(quick) })) });
}

/** A scrape target: a replica of Annex, unless `job` says otherwise. */
export interface Target {
  readonly port: number;
  readonly job?: string;
}

/** A real Prometheus that scrapes and evaluates every second. */
export class Prometheus {
  private log = '';

  private constructor(
    private readonly child: ChildProcess,
    private address: string,
  ) {}

  static async start(path: string, folder: string, targets: readonly Target[], rules?: string): Promise<Prometheus> {
    mkdirSync(folder, { recursive: true });
    const file = (name: string, content: string): string => {
      const at = join(folder, name);
      writeFileSync(at, content, { mode: 0o600 });
      return at;
    };
    const token = file('token', ADMIN);
    const jobs = [...new Set(targets.map(({ job = 'annex' }) => job))];
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: rules === undefined ? [] : [file('rules.yaml', rules)],
      scrape_configs: jobs.map((name) => ({
        job_name: name,
        // Other targets have more metrics.
        ...(name !== 'annex' && { scrape_interval: '5s', scrape_timeout: '5s' }),
        scheme: 'https',
        authorization: { credentials_file: token },
        // Each target has a certificate of its own CA.
        tls_config: { insecure_skip_verify: true },
        static_configs: [
          { targets: targets.filter(({ job = 'annex' }) => job === name).map(({ port }) => `127.0.0.1:${port}`) },
        ],
      })),
    };
    const args = ['--config.file', file('prometheus.yaml', JSON.stringify(config))];
    args.push('--storage.tsdb.path', join(folder, 'series'), '--web.listen-address', '127.0.0.1:0');
    const child = spawn(join(path, 'prometheus'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const prometheus = new Prometheus(child, '');
    child.stderr.setEncoding('utf8').on('data', (text: string) => (prometheus.log += text));
    prometheus.address = await eventually('Prometheus listens', () => {
      if (child.exitCode !== null) throw new Error(prometheus.log);
      const port = /Listening on.*127\.0\.0\.1:(\d+)/.exec(prometheus.log)?.[1];
      return Promise.resolve(port === undefined || port === '0' ? undefined : `http://127.0.0.1:${port}`);
    });
    // Prometheus listens before it can answer queries.
    await eventually('Prometheus is ready', async () =>
      (await fetch(`${prometheus.address}/-/ready`)).ok ? true : undefined,
    );
    return prometheus;
  }

  /** Returns how many numbers a query yields over the last minute. A rejected query is an error. */
  async numbers(query: string): Promise<number> {
    const now = Date.now() / 1000;
    const body = new URLSearchParams({ query, start: String(now - 60), end: String(now), step: '1' });
    const answer = await fetch(`${this.address}/api/v1/query_range`, { method: 'POST', body });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${query}: ${text}`);
    const { data } = JSON.parse(text) as { data: { result: { values: [number, string][] }[] } };
    return data.result.flatMap(({ values }) => values).filter(([, value]) => Number.isFinite(Number(value))).length;
  }

  /** Returns the names of the firing alerts. */
  async firing(): Promise<ReadonlySet<string>> {
    const answer = await fetch(`${this.address}/api/v1/alerts`);
    const { data } = (await answer.json()) as { data: { alerts: { state: string; labels: { alertname: string } }[] } };
    return new Set(data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname));
  }

  /** Waits until this many targets are up. */
  async scrapes(count: number): Promise<void> {
    const body = new URLSearchParams({ query: 'sum(up)' });
    await eventually(`${count} targets are scraped`, async () => {
      const answer = await fetch(`${this.address}/api/v1/query`, { method: 'POST', body });
      const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
      return data.result[0]?.value[1] === String(count) ? true : undefined;
    });
  }

  /** Waits until the alert fires or resolves. */
  async until(alert: string, fires: boolean): Promise<void> {
    await eventually(`${alert} ${fires ? 'fires' : 'resolves'}`, async () =>
      (await this.firing()).has(alert) === fires ? true : undefined,
    );
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await ended;
  }
}
