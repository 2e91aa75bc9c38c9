import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { type Answer, dig, digList, digText, treeOf, WatchReader } from '../client.js';
import { eventually, NOBODY } from '../server.js';
import { eventsOf, GROUP, namesOf, Stand, STORES } from './stand.js';

const VIEWS = '/apis/kubeannex.io/v1alpha1/views';
const ROWS = '/apis/views.kubeannex.io/v1alpha1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const TABLE = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
const SOURCE = { group: GROUP, resource: 'boxes' };

describe.each(STORES)('View, %s', (store) => {
  const stand = new Stand(store);

  const create = (plural: string, kind: string, spec: JsonObject, names: JsonObject = {}): Promise<Answer> =>
    stand.http.post(VIEWS, {
      apiVersion: 'kubeannex.io/v1alpha1',
      kind: 'View',
      metadata: { name: `${plural}.views.kubeannex.io` },
      spec: { names: { plural, kind, ...names }, source: SOURCE, ...spec },
    });
  const view = async (plural: string): Promise<JsonObject> =>
    treeOf(await stand.http.get(`${VIEWS}/${plural}.views.kubeannex.io`));
  const condition = async (plural: string, type: string): Promise<JsonObject | undefined> =>
    digList(await view(plural), 'status', 'conditions').find((of) => dig(of, 'type') === type) as
      JsonObject | undefined;
  const get = (collection: string, parameters: Readonly<Record<string, string>> = {}, headers = {}): Promise<Answer> =>
    stand.http.get(`${ROWS}/${collection}?${new URLSearchParams(parameters).toString()}`, headers);
  const rows = async (collection: string, parameters = {}): Promise<readonly unknown[]> => {
    const answer = await get(collection, parameters);
    if (answer.status !== 200) throw new Error(answer.text);
    return digList(treeOf(answer), 'items').map((row) => [digText(row, 'metadata', 'name'), dig(row, 'values')]);
  };
  const served = (collection: string): Promise<unknown> =>
    eventually(collection, async () => (await get(collection)).status === 200 || undefined);
  const watch = async (collection: string, parameters: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams({ watch: '1', ...parameters }).toString();
    const response = await stand.http.open({ path: `${ROWS}/${collection}?${query}` });
    return Object.assign(new WatchReader(response), { end: () => void response.destroy() });
  };

  beforeAll(async () => {
    const labels = { team: 'red' };
    await stand.create('n1', 'a', { size: 1, color: 'red' }, { labels });
    await stand.create('n1', 'b', { size: 2, color: 'blue' }, { labels });
    await stand.create('n2', 'c', { size: 5, color: 'red' });
    await stand.create('n2', 'd', { color: 'red' });
    const aggregates = [
      { name: 'boxes', count: {} },
      { name: 'size', sum: { expression: 'object.spec.size' } },
      { name: 'biggest', top: { expression: 'object.metadata.name', orderBy: 'object.?spec.?size desc', count: 2 } },
    ];
    const namespace = { name: 'namespace', expression: 'object.metadata.namespace' };
    const created = await create('boxsums', 'BoxSum', { groupBy: [namespace], aggregates }, { shortNames: ['bs'] });
    expect([created.status, created.text]).toEqual([201, expect.any(String)]);
    await create('colors', 'Color', {
      groupBy: [namespace, { name: 'color', expression: 'object.spec.color' }],
      aggregates: [{ name: 'boxes', count: {} }],
    });
    await create('wholes', 'Whole', { aggregates: [{ name: 'boxes', count: {} }], where: 'object.spec.size > 1000' });
    await create('bigs', 'Big', {
      where: 'object.spec.size > 1',
      fields: [{ name: 'size', expression: 'object.spec.size' }],
    });
    for (const collection of ['boxsums', 'colors', 'wholes', 'bigs']) await served(collection);
  });

  test('shows groups, as objects and as a table, with selectors, where, orderBy and pages', async () => {
    expect(await rows('boxsums')).toEqual([
      ['summary', { namespace: 'n1', boxes: 2, size: 3, biggest: ['b', 'a'] }],
      ['summary', { namespace: 'n2', boxes: 2, size: 5, biggest: ['c', 'd'] }],
    ]);
    expect(await rows('namespaces/n2/colors')).toEqual([['red', { namespace: 'n2', color: 'red', boxes: 2 }]]);
    expect(await rows('wholes')).toEqual([['summary', { boxes: 0 }]]);
    const list = treeOf(await get('colors'));
    expect(list).toMatchObject({ kind: 'ColorList', apiVersion: 'views.kubeannex.io/v1alpha1' });
    const { resourceVersion } = list['metadata'] as { resourceVersion: string };
    for (const row of digList(list, 'items')) {
      expect(dig(row, 'metadata')).toMatchObject({
        resourceVersion,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        creationTimestamp: expect.any(String) as string,
      });
    }
    expect(dig(treeOf(await stand.get('boxes')), 'metadata', 'resourceVersion')).toBe(resourceVersion);
    expect(treeOf(await get('namespaces/n1/boxsums/summary'))).toMatchObject({ kind: 'BoxSum', values: { size: 3 } });
    expect((await get('namespaces/n3/boxsums/summary')).status).toBe(404);
    const table = treeOf(await get('boxsums', {}, TABLE));
    expect(digList(table, 'columnDefinitions').map((of) => dig(of, 'name'))).toEqual([
      'Name',
      'boxes',
      'size',
      'biggest',
      'Age',
    ]);
    expect(dig(table, 'rows', 0, 'cells')).toEqual(['summary', 2, 3, '["b","a"]', expect.any(String)]);
    expect(await rows('colors', { fieldSelector: 'values.color=red,values.boxes=1' })).toEqual([
      ['red', { namespace: 'n1', color: 'red', boxes: 1 }],
    ]);
    expect((await get('colors', { fieldSelector: 'values.size=1' })).status).toBe(400);
    expect(await rows('colors', { where: 'object.values.boxes > 1' })).toHaveLength(1);
    const wrong = await get('colors', { where: 'object.values.boxs > 1' });
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining("undefined field 'boxs'")]);
    const orderBy = 'object.values.boxes desc, object.values.color desc';
    expect(namesOf(treeOf(await get('colors', { orderBy })))).toEqual(['red', 'red', 'blue']);
    const page = treeOf(await get('colors', { limit: '2' }));
    expect([namesOf(page), dig(page, 'metadata', 'remainingItemCount')]).toEqual([['blue', 'red'], 1]);
    const rest = await get('colors', { limit: '2', continue: digText(page, 'metadata', 'continue') });
    expect(namesOf(treeOf(rest))).toEqual(['red']);
  });

  test('shows fields of objects', async () => {
    expect(await rows('bigs', { labelSelector: 'team=red' })).toEqual([['b', { size: 2 }]]);
    const row = treeOf(await get('namespaces/n2/bigs/c'));
    const box = treeOf(await stand.get('namespaces/n2/boxes/c'));
    expect(row).toMatchObject({ kind: 'Big', values: { size: 5 } });
    expect(dig(row, 'metadata', 'creationTimestamp')).toBe(dig(box, 'metadata', 'creationTimestamp'));
    expect(dig(row, 'metadata', 'uid')).not.toBe(dig(box, 'metadata', 'uid'));
    const open = await watch('bigs', { labelSelector: 'team=red', resourceVersion: '0' });
    await open.until(({ events }) => events.length > 0);
    await stand.change('n1', 'a', { size: 7 });
    await stand.change('n1', 'a', { color: 'green' });
    await stand.change('n1', 'a', { size: 1, color: 'red' });
    await open.until(({ events }) => events.length > 2);
    expect(eventsOf(open)).toEqual(['ADDED b', 'ADDED a', 'DELETED a']);
    open.end();
  });

  test('a change that moves an object is two events, and the first carries the revision before', async () => {
    const start = digText(treeOf(await get('colors')), 'metadata', 'resourceVersion');
    const open = await watch('colors', { resourceVersion: start });
    await stand.change('n2', 'c', { color: 'black' });
    await open.until(({ events }) => events.length > 1);
    const box = treeOf(await stand.get('namespaces/n2/boxes/c'));
    const revision = Number(digText(box, 'metadata', 'resourceVersion'));
    const seen = open.events.map((event) => [
      digText(event, 'type'),
      digText(event, 'object', 'metadata', 'name'),
      Number(digText(event, 'object', 'metadata', 'resourceVersion')) - revision,
      dig(event, 'object', 'values', 'boxes'),
    ]);
    expect(seen).toEqual([
      ['MODIFIED', 'red', -1, 1],
      ['ADDED', 'black', 0, 1],
    ]);
    const again = await watch('colors', { resourceVersion: String(revision - 1) });
    await again.until(({ events }) => events.length > 1);
    expect(eventsOf(again)).toEqual(['MODIFIED red', 'ADDED black']);
    const exact = await rows('colors', { resourceVersion: start, resourceVersionMatch: 'Exact' });
    expect(exact).toEqual(expect.arrayContaining([['red', { namespace: 'n2', color: 'red', boxes: 2 }]]));
    await stand.change('n2', 'c', { color: 'red' });
    await open.until(({ events }) => events.length > 3);
    expect(eventsOf(open).slice(2)).toEqual(['DELETED black', 'MODIFIED red']);
    for (const each of [open, again]) each.end();
    const old = await get('colors', { resourceVersion: '1', resourceVersionMatch: 'Exact' });
    expect(old.status).toBe(410);
  });

  test('WatchList, and a watch in a namespace', async () => {
    const open = await watch('namespaces/n1/colors', {
      sendInitialEvents: 'true',
      allowWatchBookmarks: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    await open.until(({ events }) => events.length > 2);
    expect(open.events.map((event) => digText(event, 'type'))).toEqual(['ADDED', 'ADDED', 'BOOKMARK']);
    await stand.create('n2', 'other', { size: 1, color: 'white' });
    await stand.create('n1', 'own', { size: 1, color: 'white' });
    await open.until(({ events }) => events.length > 3);
    expect(dig(open.events.at(-1), 'object', 'metadata')).toMatchObject({ name: 'white', namespace: 'n1' });
    for (const [namespace, name] of [
      ['n2', 'other'],
      ['n1', 'own'],
    ])
      await stand.http.send({ method: 'DELETE', path: `/apis/${GROUP}/v1/namespaces/${namespace}/boxes/${name}` });
    await open.until(({ events }) => events.length > 4);
    expect(eventsOf(open).at(-1)).toBe('DELETED white');
    open.end();
  });

  test('is discovered, described and guarded', async () => {
    const { resources } = treeOf(await stand.http.get(ROWS));
    expect(resources).toEqual(
      expect.arrayContaining([
        {
          name: 'boxsums',
          singularName: 'boxsum',
          namespaced: true,
          kind: 'BoxSum',
          verbs: ['get', 'list', 'watch'],
          shortNames: ['bs'],
        },
        { name: 'wholes', singularName: 'whole', namespaced: false, kind: 'Whole', verbs: ['get', 'list', 'watch'] },
      ]),
    );
    const v3 = treeOf(await stand.http.get('/openapi/v3/apis/views.kubeannex.io/v1alpha1'));
    expect(
      dig(v3, 'components', 'schemas', 'io.kubeannex.views.v1alpha1.BoxSum', 'properties', 'values', 'properties'),
    ).toMatchObject({
      namespace: { type: 'string', description: 'The value of object.metadata.namespace.' },
      boxes: { type: 'integer', format: 'int64', description: 'The number of objects.' },
      size: { type: 'integer', nullable: true, description: 'The sum of object.spec.size.' },
      biggest: { type: 'array', items: { type: 'string' } },
    });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect([method, (await stand.http.send({ method, path: `${ROWS}/boxsums`, body: {} })).status]).toEqual([
        method,
        405,
      ]);
    }
    const asJane = async (path: string): Promise<number> => (await stand.http.send({ path, token: NOBODY })).status;
    expect(await asJane(`${ROWS}/namespaces/n1/boxsums`)).toBe(403);
    const rules = [{ apiGroups: ['views.kubeannex.io'], resources: ['boxsums'], verbs: ['list'] }];
    await stand.http.post(`${RBAC}/namespaces/n1/roles`, { metadata: { name: 'sums' }, rules });
    const roleRef = { kind: 'Role', name: 'sums' };
    const subjects = [{ kind: 'User', name: 'jane' }];
    await stand.http.post(`${RBAC}/namespaces/n1/rolebindings`, { metadata: { name: 'sums' }, roleRef, subjects });
    await eventually('the role', async () => (await asJane(`${ROWS}/namespaces/n1/boxsums`)) === 200 || undefined);
    expect(await asJane(`${ROWS}/namespaces/n2/boxsums`)).toBe(403);
  });

  test('tells in conditions how it is', async () => {
    await eventually(
      'the conditions',
      async () => (await condition('boxsums', 'Ready'))?.['status'] === 'True' || undefined,
    );
    expect(await condition('boxsums', 'Complete')).toMatchObject({ status: 'True' });
    expect(await condition('boxsums', 'ExpressionsSucceed')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('fails on 1 objects: boxes/n2/d: no such key: size') as string,
    });
    expect(await condition('colors', 'ExpressionsSucceed')).toMatchObject({ status: 'True' });
    const later = await create('laters', 'Later', {
      source: { group: 'later.example.com', resource: 'things' },
      aggregates: [{ name: 'things', count: {} }],
    });
    expect(later.status).toBe(201);
    await eventually(
      'Ready',
      async () => (await condition('laters', 'Ready'))?.['reason'] === 'SourceNotServed' || undefined,
    );
    expect((await get('laters')).status).toBe(404);
    const names = { plural: 'things', kind: 'Thing' };
    const schema = { openAPIV3Schema: { type: 'object' } };
    await stand.http.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'things.later.example.com' },
      spec: {
        group: 'later.example.com',
        scope: 'Cluster',
        names,
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    await served('laters');
    expect(await rows('laters')).toEqual([['summary', { things: 0 }]]);
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.later.example.com';
    await stand.http.send({ method: 'DELETE', path });
    await eventually('the end', async () => (await get('laters')).status === 404 || undefined);
    await create('rivals', 'BoxSum', { aggregates: [{ name: 'n', count: {} }] });
    await eventually(
      'the conflict',
      async () => (await condition('rivals', 'Ready'))?.['reason'] === 'NamesConflict' || undefined,
    );
  });

  const groupBy = [{ name: 'x', expression: 'object.spec.color' }];
  test.each<readonly [string, JsonObject, string]>([
    ['spec.where', { groupBy, where: 'object.sise > 1' }, "undefined field 'sise'"],
    ['spec.where', { groupBy, where: "object.metadata.creationTimestamp > now - duration('1h')" }, 'now'],
    ['spec.fields[0].expression', { fields: [{ name: 'x', expression: 'object.spec.tags' }] }, 'but got list'],
    ['spec.fields', { groupBy, fields: groupBy }, 'cannot be used together'],
    ['spec', {}, 'must have fields, or groupBy and aggregates'],
    [
      'spec.source.group',
      { groupBy, source: { group: 'views.kubeannex.io', resource: 'boxsums' } },
      'cannot be the source',
    ],
    ['spec.aggregates[0]', { aggregates: [{ name: 'x' }] }, 'exactly one of'],
  ])('422: %s of %j', async (field, spec, message) => {
    const answer = await create('wrongs', 'Wrong', spec);
    expect([answer.status, digList(treeOf(answer), 'details', 'causes')]).toEqual([
      422,
      expect.arrayContaining([expect.objectContaining({ field, message: expect.stringContaining(message) as string })]),
    ]);
  });

  test('can be changed and deleted', async () => {
    const path = `${VIEWS}/wholes.views.kubeannex.io`;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const open = await watch('wholes', { resourceVersion: '0' });
    const patched = await stand.http.send({
      method: 'PATCH',
      path,
      headers,
      body: { spec: { where: 'object.spec.size > 1' } },
    });
    expect(patched.status).toBe(200);
    await eventually(
      'the new rows',
      async () => JSON.stringify(await rows('wholes').catch(() => [])) === '[["summary",{"boxes":2}]]' || undefined,
    );
    await open.until((of) => of.ended);
    await stand.http.send({ method: 'DELETE', path });
    await eventually('the end', async () => (await get('wholes')).status === 404 || undefined);
    const { resources } = treeOf(await stand.http.get(ROWS));
    expect(JSON.stringify(resources)).not.toContain('wholes');
  });
});
