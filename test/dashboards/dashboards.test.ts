import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPrometheus, Prometheus } from '../alerts/prometheus.js';
import { Http1, WatchReader } from '../integration/client.js';
import { define } from '../integration/objects.js';
import { PATIENCE_MILLIS, ROOT, scratchFolder, TestServer } from '../integration/server.js';

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string }[] };
  readonly panels: readonly (Panel | { readonly type: 'row'; readonly title: string })[];
}

/** Metrics without data in this test, and why. Their queries must only parse. */
const WITHOUT_DATA: Readonly<Record<string, string>> = {
  annex_store_change_stream_errors_total: 'the store is not MongoDB',
  annex_store_projection_lag_seconds: 'the store is not MongoDB',
  annex_store_index_errors_total: 'the store is not MongoDB',
  annex_cluster_link_broken: 'there is no cluster',
  annex_adoption_phase: 'there is no cluster',
  annex_adoption_source_objects: 'there is no cluster',
  annex_adoption_copied_objects: 'there is no cluster',
  annex_adoption_lag_seconds: 'there is no cluster',
  annex_admission_configuration_age_seconds: 'there is no cluster',
  annex_admission_params_unreadable: 'there is no cluster',
  annex_large_write_duration_seconds_bucket: 'no write is large enough for a worker thread',
  annex_memory_limit_bytes: 'a limit of memory is the container’s',
  annex_http2_connection_errors_total: 'no client misbehaves',
  apiserver_request_aborts_total: 'no answer is cut off',
  apiserver_request_terminations_total: 'no request is ended in self-defence',
  apiserver_dropped_requests_total: 'the load stays below the limits',
  etcd_request_errors_total: 'the store does not fail',
  apiserver_admission_webhook_admission_duration_seconds_bucket: 'there is no webhook',
  apiserver_admission_webhook_rejection_count: 'there is no webhook',
  apiserver_admission_webhook_fail_open_count: 'there is no webhook',
};

const NAMES = ['operations', 'types'];
const METRIC = /\b(?:annex|apiserver|authentication|authorization|etcd|kubernetes|nodejs|process)_[a-z0-9_]+/g;

const dashboards = NAMES.map((name) => {
  const path = join(ROOT, `charts/annex/files/dashboards/${name}.json`);
  return { name, ...(JSON.parse(readFileSync(path, 'utf8')) as Dashboard) };
});
const isChart = (panel: Dashboard['panels'][number]): panel is Panel => panel.type !== 'row';
const queries = dashboards.flatMap(({ name, panels }) =>
  panels
    .filter(isChart)
    .flatMap(({ title, targets }) => targets.map(({ expr }) => ({ where: `${name}, ${title}`, expr }))),
);
const metricsOf = (expr: string): string[] => [...expr.matchAll(METRIC)].map(([name]) => name);
const hasData = (expr: string): boolean => !metricsOf(expr).some((name) => Object.hasOwn(WITHOUT_DATA, name));

const GROUP = 'dashboards.example.com';
const VALUES: Readonly<Record<string, string>> = {
  job: 'annex',
  instance: '.*',
  group: GROUP,
  resource: 'widgets',
  __rate_interval: '10s',
};
const filledIn = (expr: string): string => expr.replace(/\$(\w+)/g, (_, name: string) => VALUES[name] ?? `$${name}`);

test('the files are the output of the script', () => {
  const { status, stderr } = spawnSync(process.execPath, ['hack/dashboards.mjs', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test.each(dashboards)('$name: each panel has a description, and each variable exists', ({ panels, templating }) => {
  const known = new Set([...templating.list.map(({ name }) => name), '__rate_interval']);
  for (const panel of panels.filter(isChart)) {
    expect(panel.description).not.toBe('');
    for (const { expr, legendFormat } of panel.targets) {
      expect(legendFormat).not.toBe('');
      for (const [, name = ''] of expr.matchAll(/\$(\w+)/g)) expect(known).toContain(name);
    }
  }
});

test('docs/monitoring.md lists the panels', () => {
  const text = readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8');
  for (const { panels } of dashboards) {
    const rows: string[][] = [];
    for (const panel of panels) {
      if (isChart(panel)) rows.at(-1)?.push(panel.title);
      else rows.push([panel.title]);
    }
    for (const [row = '', ...titles] of rows) expect(text).toContain(`| ${row} | ${titles.join('; ')} |\n`);
  }
});

test('metrics listed as having no data are queried', () => {
  const asked = new Set(queries.flatMap(({ expr }) => metricsOf(expr)));
  expect(Object.keys(WITHOUT_DATA).filter((name) => !asked.has(name))).toEqual([]);
});

const WIDGETS = `/apis/${GROUP}/v1/namespaces/default/widgets`;
const POLICIES = '/apis/admissionregistration.k8s.io/v1';

const widget = (name: string, size = 'small'): object => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Widget',
  metadata: { name },
  spec: { size, replicas: 1 },
});

async function makePolicy(http: Http1): Promise<void> {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = { apiGroups: [GROUP], apiVersions: ['*'], resources: ['widgets'], operations: ['CREATE', 'UPDATE'] };
  const policy = await http.post(`${POLICIES}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'small' },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "object.spec.size == 'small'" }],
    },
  });
  const binding = await http.post(`${POLICIES}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'small' },
    spec: { policyName: 'small', validationActions: ['Deny'] },
  });
  expect([policy.status, binding.status]).toEqual([201, 201]);
}

/** One round of client requests. The policy rejects one write of it once it is enforced. */
async function round(http: Http1, number: number): Promise<void> {
  const name = `widget-${number}`;
  await http.post(WIDGETS, widget(name));
  await http.post(WIDGETS, widget(`${name}-large`, 'large'));
  await http.get(`${WIDGETS}/${name}`);
  await http.get(`${WIDGETS}/absent`);
  await http.get(WIDGETS);
  await http.get('/readyz');
  const headers = { 'content-type': 'application/merge-patch+json' };
  await http.send({ method: 'PATCH', path: `${WIDGETS}/${name}`, body: { spec: { replicas: 2 } }, headers });
  if (number % 2 === 0) await http.send({ method: 'DELETE', path: `${WIDGETS}/${name}` });
}

const found = findPrometheus();
const [suite, title] =
  'missing' in found ? [describe.skip, `(skipped: ${found.missing})`] : [describe, 'with a real Prometheus'];
suite(title, () => {
  let server: TestServer | undefined;
  let prometheus: Prometheus | undefined;
  let loading = true;
  let load: Promise<void> | undefined;
  const folder = scratchFolder(async () => {
    loading = false;
    await load?.catch(() => undefined);
    await server?.stop('SIGKILL');
    await prometheus?.stop();
  });

  test('every query of every panel has data', async () => {
    server = await TestServer.start(folder);
    const http = new Http1(server);
    await define(http, GROUP, 'widgets', 'Widget');
    await makePolicy(http);
    const watch = new WatchReader(await http.open({ path: `${WIDGETS}?watch=true` }));
    const path = 'path' in found ? found.path : '';
    const scraper = (prometheus = await Prometheus.start(path, join(folder, 'prometheus'), [server]));
    const numbers = (expr: string): Promise<number> => scraper.numbers(filledIn(expr));
    load = (async () => {
      for (let i = 0; loading; i++) {
        await round(http, i);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    let missing = queries.filter(({ expr }) => hasData(expr));
    const end = performance.now() + PATIENCE_MILLIS;
    while (missing.length > 0 && performance.now() < end) {
      const still: typeof missing = [];
      for (const query of missing) if ((await numbers(query.expr)) === 0) still.push(query);
      missing = still;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect(missing).toEqual([]);
    for (const { expr } of queries.filter((query) => !hasData(query.expr))) await numbers(expr);
    expect(watch.events.length).toBeGreaterThan(0);
    loading = false;
    await load;
  });
});
