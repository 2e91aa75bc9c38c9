import { Registry } from 'prom-client';
import type { AuthorizationResult } from '../../authorization/authorizer/interfaces.js';
import type { Exchange } from './exchange.js';
import { ChainMetrics, scopeOf } from './metrics.js';
import { type TestRequest, TestChain } from '../../../test/fakes/endpoints/handler-chain.js';

/** Returns a request in progress with the fields that metrics read. */
function request(scene: TestRequest, served = true): Exchange {
  const stage = new TestChain();
  stage.handler = () => new Promise(() => undefined);
  const { exchange } = stage.start(scene);
  exchange.served = served;
  return exchange;
}

/** Returns the labels of all samples of the named metric. */
async function labels(registry: Registry, name: string): Promise<Record<string, string>[]> {
  const text = await registry.metrics();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`));
  return lines.map((line) =>
    Object.fromEntries(Array.from(line.matchAll(/(\w+)="([^"]*)"/g), ([, key = '', value = '']) => [key, value])),
  );
}

describe('the verb and the scope of a request', () => {
  const PODS = '/api/v1/namespaces/n/pods';
  const APPLY = { 'content-type': 'application/apply-patch+yaml' };
  const cases: readonly (readonly [string, TestRequest, string, string])[] = [
    ['a list', { url: PODS }, 'LIST', 'namespace'],
    ['of the cluster', { url: '/api/v1/pods' }, 'LIST', 'cluster'],
    ['a get', { url: `${PODS}/a` }, 'GET', 'resource'],
    ['a watch', { url: `${PODS}?watch=true` }, 'WATCH', 'namespace'],
    ['a watch of one', { url: `${PODS}?watch=1&fieldSelector=metadata.name=a` }, 'WATCH', 'resource'],
    ['a create', { method: 'POST', url: PODS }, 'POST', 'resource'],
    ['an update', { method: 'PUT', url: `${PODS}/a` }, 'PUT', 'resource'],
    ['a patch', { method: 'PATCH', url: `${PODS}/a` }, 'PATCH', 'resource'],
    ['an apply', { method: 'PATCH', url: `${PODS}/a`, headers: APPLY }, 'APPLY', 'resource'],
    ['a delete', { method: 'DELETE', url: `${PODS}/a` }, 'DELETE', 'resource'],
    ['of all', { method: 'DELETE', url: PODS }, 'DELETE', 'namespace'],
    ['a connection', { method: 'POST', url: `${PODS}/a/exec` }, 'CONNECT', 'resource'],
    ['a path', { url: '/healthz' }, 'GET', ''],
    ['a method that is none', { method: 'BREW', url: PODS }, 'other', 'namespace'],
  ];
  test.each(cases)('%s', async (_name, scene, verb, scope) => {
    const registry = new Registry();
    const exchange = request(scene);
    // The request bypasses the parser of Node, so its parsed headers are set here.
    Object.assign(exchange.request.headers, scene.headers);
    new ChainMetrics(registry).completed(exchange, 10);
    const [sample] = await labels(registry, 'apiserver_request_total');
    expect(sample).toMatchObject({ verb, scope, code: '200', component: 'apiserver', dry_run: '' });
    expect(scopeOf(exchange.info)).toBe(scope);
  });

  test.each([
    ['dryRun=All', 'All'],
    ['dryRun=All&dryRun=All', 'All'],
    ['dryRun=Some', 'invalid'],
    ['dryRun=All&dryRun=Some', 'invalid'],
    ['notDryRun=1', ''],
  ])('%s sets the dry_run label to %j', async (query, expected) => {
    const registry = new Registry();
    new ChainMetrics(registry).completed(request({ method: 'POST', url: `${PODS}?${query}` }), 10);
    expect(await labels(registry, 'apiserver_request_total')).toMatchObject([{ dry_run: expected }]);
    const sli = await labels(registry, 'apiserver_request_sli_duration_seconds_count');
    expect(sli).toHaveLength(expected === '' ? 1 : 0);
  });
});

test('requests that are not served get no resource labels, so that clients cannot create series', async () => {
  const registry = new Registry();
  const metrics = new ChainMetrics(registry);
  for (let i = 0; i < 20; i++) {
    metrics.completed(request({ url: `/apis/g${i}.example.com/v1/r${i}` }, false), 1);
    metrics.completed(request({ url: `/guess/${i}` }, false), 1);
  }
  metrics.completed(request({ url: '/livez' }, false), 1);
  const found = await labels(registry, 'apiserver_request_total');
  expect(found.map(({ group, resource, subresource, scope }) => [group, resource, subresource, scope])).toEqual([
    ['', '', '', 'cluster'],
    ['', '', '', ''],
    ['', '', '/livez', ''],
  ]);
  // Once the resource is served, its labels are set.
  const later = request({ url: '/apis/g1.example.com/v1/r1' });
  metrics.completed(later, 1);
  expect(await labels(registry, 'apiserver_request_total')).toContainEqual(
    expect.objectContaining({ group: 'g1.example.com', resource: 'r1' }),
  );
});

test('records the duration in seconds, and the response size of a read', async () => {
  const registry = new Registry();
  const metrics = new ChainMetrics(registry);
  const exchange = request({ url: '/api/v1/namespaces/n/pods/a' });
  exchange.response.setHeader('Content-Length', 1234);
  metrics.completed(exchange, 250);
  const text = await registry.metrics();
  expect(text).toMatch(/apiserver_request_duration_seconds_sum\{.*\} 0\.25\n/);
  expect(text).toMatch(/apiserver_request_duration_seconds_bucket\{.*le="0.2"\} 0\n/);
  expect(text).toMatch(/apiserver_request_duration_seconds_bucket\{.*le="0.4"\} 1\n/);
  expect(text).toMatch(/apiserver_response_sizes_sum\{.*\} 1234\n/);
  metrics.completed(request({ method: 'POST', url: '/api/v1/namespaces/n/pods' }), 1);
  expect(await labels(registry, 'apiserver_response_sizes_count')).toMatchObject([{ verb: 'GET' }]);
});

test('reports the maximum number of requests in flight since the last scrape', async () => {
  const registry = new Registry();
  const metrics = new ChainMetrics(registry);
  const read = async (): Promise<string | undefined> =>
    /current_inflight_requests\{request_kind="mutating"\} (\d+)/.exec(await registry.metrics())?.[1];
  metrics.inFlight('mutating', 3);
  metrics.inFlight('mutating', 1);
  expect([await read(), await read()]).toEqual(['3', '1']);
});

test('counts a long-running request until it ends', async () => {
  const registry = new Registry();
  const end = new ChainMetrics(registry).longRunningStarted(request({ url: '/api/v1/pods?watch=1' }));
  const read = async (): Promise<string | undefined> =>
    /apiserver_longrunning_requests\{verb="WATCH".*\} (\d+)/.exec(await registry.metrics())?.[1];
  expect(await read()).toBe('1');
  end();
  expect(await read()).toBe('0');
});

describe('authentication and authorization', () => {
  test('limits the username label to few values', async () => {
    const registry = new Registry();
    const metrics = new ChainMetrics(registry);
    const exchange = request({});
    for (const name of [
      'admin',
      'jane@example.com',
      'joe@example.com',
      'jane',
      'system:serviceaccount:kube-system:default',
    ]) {
      exchange.user = { name, uid: '', groups: [], extra: {} };
      metrics.authenticated(exchange, 'success');
    }
    exchange.authenticationMillis = 3;
    metrics.authenticated(exchange, 'failure');
    metrics.authenticated(exchange, 'error');
    const text = await registry.metrics();
    expect(text.match(/^authenticated_user_requests\{.*$/gm)).toEqual([
      'authenticated_user_requests{username="admin"} 1',
      'authenticated_user_requests{username="email_id"} 2',
      'authenticated_user_requests{username="other"} 1',
      'authenticated_user_requests{username="system:serviceaccount:kube-system:default"} 1',
    ]);
    expect(text.match(/^authentication_attempts\{.*$/gm)).toEqual([
      'authentication_attempts{result="success"} 5',
      'authentication_attempts{result="failure"} 1',
      'authentication_attempts{result="error"} 1',
    ]);
    expect(text.match(/^authentication_duration_seconds_bucket\{result="failure",.*$/gm)).toEqual(
      ['0.001', '0.002', '0.004', '0.008', '0.016', '0.032', '0.064', '0.128', '0.256', '0.512']
        .concat(['1.024', '2.048', '4.096', '8.192', '16.384', '+Inf'])
        .map((le, i) => `authentication_duration_seconds_bucket{result="failure",le="${le}"} ${i < 2 ? 0 : 1}`),
    );
    expect(text).toContain('authentication_duration_seconds_count{result="success"} 5\n');
  });

  test.each<[AuthorizationResult, string]>([
    [{ decision: 'allow', reason: '' }, 'allowed'],
    [{ decision: 'deny', reason: '' }, 'denied'],
    [{ decision: 'no-opinion', reason: '' }, 'no-opinion'],
    [{ decision: 'no-opinion', reason: '', error: 'broken' }, 'error'],
  ])('%j counts as %s', async (result, shown) => {
    const registry = new Registry();
    new ChainMetrics(registry).authorized(result, 3);
    expect(await labels(registry, 'authorization_attempts_total')).toEqual([{ result: shown }]);
    const text = await registry.metrics();
    expect(text).toContain(`authorization_duration_seconds_sum{result="${shown}"} 0.003\n`);
    expect(text).toContain(`authorization_duration_seconds_bucket{result="${shown}",le="0.002"} 0\n`);
    expect(text).toContain(`authorization_duration_seconds_bucket{result="${shown}",le="0.004"} 1\n`);
  });
});
