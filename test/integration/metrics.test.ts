import { Http1, WatchReader } from './client.js';
import { configMap, define } from './objects.js';
import { eventually, serverForFile } from './server.js';

const server = serverForFile();
const BASE = '/api/v1/namespaces/default/configmaps';

/** Returns the value of a series, regardless of the label order, or undefined if it does not exist. */
function valueOf(text: string, name: string, labels: Readonly<Record<string, string>>): number | undefined {
  for (const line of text.split('\n')) {
    const match = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] !== name) continue;
    const found = new Map<string, string>();
    for (const [, key = '', value = ''] of (match[2] ?? '').matchAll(/([a-z_]+)="([^"]*)"/g)) found.set(key, value);
    const same = found.size === Object.keys(labels).length;
    if (same && Object.entries(labels).every(([key, value]) => found.get(key) === value)) return Number(match[3]);
  }
  return undefined;
}

const read = async (): Promise<string> => (await new Http1(server.current).get('/metrics')).text;
const CORE = { group: '', version: 'v1', resource: 'configmaps', subresource: '', component: 'apiserver' };
const REQUEST = { ...CORE, dry_run: '' };

test('request metrics have the labels of kube-apiserver', async () => {
  const http = new Http1(server.current);
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  await http.post(BASE, configMap('one'));
  await http.get(`${BASE}/one`);
  await http.get(BASE);
  await http.get('/api/v1/configmaps');
  await http.get(`${BASE}/absent`);
  await http.send({ method: 'PATCH', path: `${BASE}/one?fieldManager=x&dryRun=All`, body: configMap('one'), headers });
  await http.send({ method: 'DELETE', path: `${BASE}/one` });
  const text = await read();
  const total = (labels: Record<string, string>): number | undefined =>
    valueOf(text, 'apiserver_request_total', { ...REQUEST, ...labels });
  expect(total({ verb: 'POST', scope: 'resource', code: '201' })).toBe(1);
  expect(total({ verb: 'GET', scope: 'resource', code: '200' })).toBe(1);
  expect(total({ verb: 'GET', scope: 'resource', code: '404' })).toBe(1);
  expect(total({ verb: 'LIST', scope: 'namespace', code: '200' })).toBe(1);
  expect(total({ verb: 'LIST', scope: 'cluster', code: '200' })).toBe(1);
  expect(total({ verb: 'APPLY', scope: 'resource', code: '200', dry_run: 'All' })).toBe(1);
  expect(total({ verb: 'DELETE', scope: 'resource', code: '200' })).toBe(1);
  const bucket = { ...REQUEST, verb: 'GET', scope: 'resource' };
  expect(valueOf(text, 'apiserver_request_duration_seconds_count', bucket)).toBe(2);
  expect(valueOf(text, 'apiserver_request_duration_seconds_bucket', { ...bucket, le: '60' })).toBe(2);
  const sizes = { ...CORE, verb: 'LIST', scope: 'cluster' };
  expect(valueOf(text, 'apiserver_response_sizes_count', sizes)).toBe(1);
  expect(valueOf(text, 'apiserver_response_sizes_sum', sizes)).toBeGreaterThan(200);
  expect(valueOf(text, 'apiserver_request_body_size_bytes_count', { resource: 'configmaps', verb: 'create' })).toBe(1);
});

test('counts requests for deprecated APIs, and measures authentication and authorization', async () => {
  const http = new Http1(server.current);
  const asked = async (): Promise<number | undefined> =>
    valueOf(await read(), 'apiserver_requested_deprecated_apis', {
      group: '',
      version: 'v1',
      resource: 'endpoints',
      subresource: '',
      removed_release: '',
    });
  await http.get('/api/v1/services');
  expect(await asked()).toBeUndefined();
  for (let i = 0; i < 2; i++) await http.get('/api/v1/endpoints');
  expect(await asked()).toBe(1);
  const text = await read();
  for (const [name, result] of [
    ['authentication', 'success'],
    ['authorization', 'allowed'],
  ] as const) {
    const bucket = { result, le: '16.384' };
    expect(valueOf(text, `${name}_duration_seconds_bucket`, bucket)).toBeGreaterThan(2);
    expect(valueOf(text, `${name}_duration_seconds_sum`, { result })).toBeGreaterThan(0);
  }
});

test('requests for unserved resources create no series of their own', async () => {
  const http = new Http1(server.current);
  await http.get('/apis/invented.example.com/v1/things');
  await http.get('/invented/path');
  expect(await read()).not.toContain('invented');
});

test('counts watches and their events', async () => {
  const http = new Http1(server.current);
  const path = '/api/v1/namespaces/kube-public/configmaps';
  const type = { group: '', version: 'v1', resource: 'configmaps' };
  const fed = { group: '', resource: 'configmaps' };
  // Controllers watch too, and some of them may start only now.
  const before = valueOf(await read(), 'annex_watch_cache_watchers', fed) ?? NaN;
  const response = await http.open({ path: `${path}?watch=1` });
  const watch = new WatchReader(response);
  await http.post(path, configMap('seen'));
  await watch.until((reader) => reader.events.some((event) => event['type'] === 'ADDED'));
  const text = await read();
  const running = { ...CORE, verb: 'WATCH', scope: 'namespace' };
  expect(valueOf(text, 'apiserver_longrunning_requests', running)).toBe(1);
  expect(valueOf(text, 'apiserver_watch_events_total', type)).toBeGreaterThanOrEqual(1);
  expect(valueOf(text, 'apiserver_watch_events_sizes_count', type)).toBeGreaterThanOrEqual(1);
  expect(valueOf(text, 'annex_watch_cache_watchers', fed)).toBeGreaterThan(before);
  response.destroy();
  await eventually('the watch is no longer counted', async () =>
    valueOf(await read(), 'apiserver_longrunning_requests', running) === 0 ? true : undefined,
  );
});

test('reports store and cache metrics, including those of types that are added and deleted', async () => {
  const http = new Http1(server.current);
  await define(http, 'metrics.example.com', 'meters', 'Meter');
  const body = { apiVersion: 'metrics.example.com/v1', kind: 'Meter', metadata: { name: 'm' } };
  expect((await http.post('/apis/metrics.example.com/v1/namespaces/default/meters', body)).status).toBe(201);
  const type = { group: 'metrics.example.com', resource: 'meters' };
  const text = await read();
  expect(valueOf(text, 'apiserver_resource_objects', type)).toBe(1);
  expect(valueOf(text, 'apiserver_storage_objects', { resource: 'meters.metrics.example.com' })).toBe(1);
  expect(valueOf(text, 'apiserver_watch_cache_resource_version', type)).toBeGreaterThan(0);
  expect(valueOf(text, 'apiserver_storage_events_received_total', type)).toBe(1);
  expect(valueOf(text, 'etcd_requests_total', { ...type, operation: 'create' })).toBe(1);
  expect(valueOf(text, 'etcd_request_duration_seconds_count', { ...type, operation: 'create' })).toBe(1);
  expect(valueOf(text, 'annex_cache_derived_limit_bytes', {})).toBe(128 * 1024 * 1024);
  await http.send({
    method: 'DELETE',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/meters.metrics.example.com',
  });
  await eventually('its series are gone', async () =>
    valueOf(await read(), 'apiserver_resource_objects', type) === undefined ? true : undefined,
  );
});

test('reports authentication, authorization, health, and process metrics', async () => {
  const http = new Http1(server.current);
  await http.send({ path: '/readyz?verbose', token: '' });
  await http.send({ path: BASE, token: 'wrong' });
  await http.send({ path: BASE, token: '' });
  const text = await read();
  expect(valueOf(text, 'authentication_attempts', { result: 'success' })).toBeGreaterThan(0);
  expect(valueOf(text, 'authentication_attempts', { result: 'error' })).toBeGreaterThan(0);
  expect(valueOf(text, 'authorization_attempts_total', { result: 'allowed' })).toBeGreaterThan(0);
  expect(valueOf(text, 'kubernetes_healthcheck', { name: 'etcd', type: 'readyz' })).toBe(1);
  expect(valueOf(text, 'kubernetes_feature_enabled', { name: 'WatchList', stage: 'BETA' })).toBe(0);
  expect(valueOf(text, 'process_resident_memory_bytes', {})).toBeGreaterThan(1e6);
});
