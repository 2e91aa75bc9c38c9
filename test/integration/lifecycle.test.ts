import { dig, digList, digText, Http1, treeOf, WatchReader } from './client.js';
import { configMap, define, definition, DEFINITIONS, namespace } from './objects.js';
import { eventually, serverForFile } from './server.js';

const server = serverForFile();
const http = (): Http1 => new Http1(server.current);
const GROUP = 'life.example.com';
const object = (kind: string, name: string, finalizers: readonly string[] = []): object => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  metadata: { name, finalizers },
  spec: { size: 'small' },
});

const gone = (client: Http1, path: string): Promise<true> =>
  eventually(`${path} is gone`, async () => ((await client.get(path)).status === 404 ? (true as const) : undefined));

describe('namespaces', () => {
  test('the system namespaces exist and are recreated', async () => {
    const client = http();
    const names = digList(treeOf(await client.get('/api/v1/namespaces')), 'items').map((item) =>
      dig(item, 'metadata', 'name'),
    );
    expect(names).toEqual(expect.arrayContaining(['default', 'kube-node-lease', 'kube-public', 'kube-system']));
    const refused = await client.send({ method: 'DELETE', path: '/api/v1/namespaces/kube-system' });
    expect([refused.status, treeOf(refused)['reason']]).toEqual([403, 'Forbidden']);
  });

  test('deleting a namespace deletes its built-in and custom objects, then the namespace itself', async () => {
    const client = http();
    await define(client, GROUP, 'tools', 'Tool');
    await client.post('/api/v1/namespaces', namespace('busy'));
    for (let i = 0; i < 30; i++) {
      expect((await client.post('/api/v1/namespaces/busy/configmaps', configMap(`c${i}`))).status).toBe(201);
      expect((await client.post(`/apis/${GROUP}/v1/namespaces/busy/tools`, object('Tool', `t${i}`))).status).toBe(201);
    }
    await client.post('/api/v1/namespaces/default/configmaps', configMap('stays'));
    const answer = await client.send({ method: 'DELETE', path: '/api/v1/namespaces/busy' });
    expect([answer.status, dig(treeOf(answer), 'status', 'phase')]).toEqual([200, 'Terminating']);
    await gone(client, '/api/v1/namespaces/busy');
    expect(digList(treeOf(await client.get('/api/v1/namespaces/busy/configmaps')), 'items')).toEqual([]);
    expect(digList(treeOf(await client.get(`/apis/${GROUP}/v1/tools`)), 'items')).toEqual([]);
    expect((await client.get('/api/v1/namespaces/default/configmaps/stays')).status).toBe(200);
  });

  test('a terminating namespace rejects new objects, and a finalizer delays its deletion', async () => {
    const client = http();
    await client.post('/api/v1/namespaces', namespace('held'));
    const held = { ...configMap('held'), metadata: { name: 'held', finalizers: ['example.com/wait'] } };
    await client.post('/api/v1/namespaces/held/configmaps', held);
    await client.send({ method: 'DELETE', path: '/api/v1/namespaces/held' });
    const refused = await client.post('/api/v1/namespaces/held/configmaps', configMap('late'));
    expect([refused.status, treeOf(refused)['message']]).toEqual([
      403,
      'configmaps "late" is forbidden: unable to create new content in namespace held because it is being terminated',
    ]);
    await eventually('its conditions say what is left', async () => {
      const conditions = digList(treeOf(await client.get('/api/v1/namespaces/held')), 'status', 'conditions');
      const found = conditions.find((one) => dig(one, 'type') === 'NamespaceFinalizersRemaining');
      return dig(found, 'status') === 'True' ? found : undefined;
    });
    const headers = { 'content-type': 'application/merge-patch+json' };
    const path = '/api/v1/namespaces/held/configmaps/held';
    await client.send({ method: 'PATCH', path, body: { metadata: { finalizers: null } }, headers });
    await gone(client, '/api/v1/namespaces/held');
  });
});

describe('definitions', () => {
  test('watchers and discovery see a definition from its creation to its deletion', async () => {
    const client = http();
    const watch = new WatchReader(await client.open({ path: `${DEFINITIONS}?watch=1` }));
    await define(client, GROUP, 'engines', 'Engine');
    const mine = (type: string): boolean =>
      watch.events.some((e) => e['type'] === type && dig(e, 'object', 'metadata', 'name') === `engines.${GROUP}`);
    await watch.until(() => mine('ADDED') && mine('MODIFIED'));
    const made = await client.post(
      `/apis/${GROUP}/v1/namespaces/default/engines`,
      object('Engine', 'one', ['example.com/wait']),
    );
    expect(made.status).toBe(201);
    const objects = new WatchReader(await client.open({ path: `/apis/${GROUP}/v1/engines?watch=1` }));
    await objects.until(() => objects.events.length === 1);

    const answer = await client.send({ method: 'DELETE', path: `${DEFINITIONS}/engines.${GROUP}` });
    expect(dig(treeOf(answer), 'metadata', 'finalizers')).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    const held = await eventually('it says that objects remain', async () => {
      const tree = treeOf(await client.get(`${DEFINITIONS}/engines.${GROUP}`));
      const found = digList(tree, 'status', 'conditions').find((one) => dig(one, 'type') === 'Terminating');
      return dig(found, 'status') === 'True' ? found : undefined;
    });
    expect(dig(held, 'reason')).toMatch(/^InstanceDeletion/);
    const late = await client.post(`/apis/${GROUP}/v1/namespaces/default/engines`, object('Engine', 'two'));
    expect([late.status, treeOf(late)['message']]).toEqual([403, expect.stringContaining('definition is terminating')]);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const path = `/apis/${GROUP}/v1/namespaces/default/engines/one`;
    await client.send({ method: 'PATCH', path, body: { metadata: { finalizers: null } }, headers });
    await gone(client, `${DEFINITIONS}/engines.${GROUP}`);
    await objects.until((reader) => reader.ended && reader.events.some((event) => event['type'] === 'DELETED'));
    await gone(client, `/apis/${GROUP}/v1/engines`);
    await watch.until(() => mine('DELETED'));

    await define(client, GROUP, 'engines', 'Engine');
    expect(digList(treeOf(await client.get(`/apis/${GROUP}/v1/engines`)), 'items')).toEqual([]);
  });

  test('names that another definition has are not accepted', async () => {
    const client = http();
    await define(client, 'first.example.com', 'pumps', 'Pump');
    const taken = definition('first.example.com', 'otherpumps', 'Pump');
    await client.post(DEFINITIONS, taken);
    const found = await eventually('it is refused its names', async () => {
      const tree = treeOf(await client.get(`${DEFINITIONS}/otherpumps.first.example.com`));
      const condition = digList(tree, 'status', 'conditions').find((one) => dig(one, 'type') === 'NamesAccepted');
      return condition !== undefined && dig(condition, 'status') === 'False' ? condition : undefined;
    });
    expect(dig(found, 'reason')).toMatch(/Conflict$/);
    expect((await client.get('/apis/first.example.com/v1/otherpumps')).status).toBe(404);
    const about = '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dotherpumps.first.example.com';
    const [event] = await eventually('an event', async () => {
      const items = digList(treeOf(await client.get(about)), 'items');
      return items.length > 0 ? items : undefined;
    });
    expect(event).toMatchObject({
      involvedObject: { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      type: 'Warning',
      reason: dig(found, 'reason'),
    });
  });
});

describe('soon after a change', () => {
  test('updates discovery, aggregated discovery, OpenAPI v2 and v3, and the index', async () => {
    const client = http();
    const group = 'soon.example.com';
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const seen: readonly (readonly [string, () => Promise<boolean>])[] = [
      ['/apis', async () => (await client.get('/apis')).text.includes(`"name":"${group}"`)],
      [
        'aggregated',
        async () => (await client.get('/apis', { accept: aggregated })).text.includes(`"name":"${group}"`),
      ],
      ['group version', async () => (await client.get(`/apis/${group}/v1`)).text.includes('"lamps/status"')],
      ['OpenAPI 2', async () => (await client.get('/openapi/v2')).text.includes(`/apis/${group}/v1/lamps`)],
      ['OpenAPI 3', async () => (await client.get('/openapi/v3')).text.includes(`"apis/${group}/v1"`)],
      [
        'OpenAPI 3 of it',
        async () => (await client.get(`/openapi/v3/apis/${group}/v1`)).text.includes('What is wished.'),
      ],
      ['index', async () => (await client.get('/')).text.includes(`"/apis/${group}/v1"`)],
    ];
    await client.get('/openapi/v2');
    await define(client, group, 'lamps', 'Lamp');
    await Promise.all(
      seen.map(([what, probe]) => eventually(`${what} shows it`, async () => ((await probe()) ? true : undefined))),
    );
    await client.send({ method: 'DELETE', path: `${DEFINITIONS}/lamps.${group}` });
    await gone(client, `${DEFINITIONS}/lamps.${group}`);
    await Promise.all(
      seen.map(([what, probe]) => eventually(`${what} forgets it`, async () => ((await probe()) ? undefined : true))),
    );
  });

  test('drops a version that is no longer served', async () => {
    const client = http();
    const group = 'later.example.com';
    const first = dig(
      JSON.parse(JSON.stringify(definition(group, 'doors', 'Door'))) as ReturnType<typeof treeOf>,
      'spec',
      'versions',
      0,
    );
    const second = { ...(first as object), name: 'v1beta1', storage: false };
    await define(client, group, 'doors', 'Door', { versions: [first, second] });
    expect((await client.get(`/apis/${group}/v1beta1/doors`)).status).toBe(200);
    const headers = { 'content-type': 'application/json-patch+json' };
    const body = [{ op: 'replace', path: '/spec/versions/1/served', value: false }];
    expect((await client.send({ method: 'PATCH', path: `${DEFINITIONS}/doors.${group}`, body, headers })).status).toBe(
      200,
    );
    await gone(client, `/apis/${group}/v1beta1/doors`);
    await eventually('discovery forgets it', async () =>
      (await client.get(`/apis/${group}`)).text.includes('v1beta1') ? undefined : true,
    );
    expect((await client.get(`/apis/${group}/v1/doors`)).status).toBe(200);
  });
});

test('OpenAPI v3 documents have their hash in the URL and are cached forever', async () => {
  const client = http();
  const url = digText(treeOf(await client.get('/openapi/v3')), 'paths', 'api/v1', 'serverRelativeURL');
  expect(url).toMatch(/^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]+$/);
  const answer = await client.get(url);
  expect([answer.status, answer.headers['cache-control']]).toEqual([200, expect.stringContaining('immutable')]);
  const wrong = await client.get(url.replace(/=.*/, '=00'));
  expect([wrong.status, wrong.headers['location']]).toEqual([301, url]);
  const again = await client.get(url, { 'if-none-match': String(answer.headers['etag']) });
  expect([again.status, again.text]).toEqual([304, '']);
});
