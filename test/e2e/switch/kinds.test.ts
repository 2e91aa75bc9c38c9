import { type JsonObject, objectAt } from '../../../src/apimachinery/json/json.js';
import { type Answer, digList, digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { available, condition, read } from '../widgets.js';
import { Converter } from './converter.js';
import { loose, objectText, ODD, realms, things } from './kinds.js';
import { Reconciler, reconcilerMissing } from './reconciler.js';
import { describeOnCluster, say } from '../suite.js';

const NAMESPACE = 'odd';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
/** The number of objects for which the controller keeps ConfigMaps. */
const SMALL = 40;

const pathOf = (plural: string, name = '', version = 'v1'): string =>
  `/apis/${ODD}/${version}/namespaces/${NAMESPACE}/${plural}${name === '' ? '' : `/${name}`}`;
const realmPath = (name = ''): string => `/apis/${ODD}/v1/realms${name === '' ? '' : `/${name}`}`;
const mapPath = (name: string): string => `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`;

const ownedBy = (object: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: digText(object, 'apiVersion'),
  kind: digText(object, 'kind'),
  name: digText(object, 'metadata', 'name'),
  uid: digText(object, 'metadata', 'uid'),
  ...more,
});

const OPTIONS = { apiservers: 2 as const, groups: [ODD] };

describeOnCluster('various kinds move from the cluster into Annex, and back', OPTIONS, (cluster) => {
  const converter = new Converter();
  const before = new Map<string, JsonObject>();
  let reconciler: Reconciler | undefined;

  beforeAll(() => converter.start());
  afterAll(() => {
    reconciler?.stop();
    converter.stop();
  });

  const made = async (path: string, body: string): Promise<JsonObject> => {
    const answer = await cluster.http.send({ method: 'POST', path, body });
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return treeOf(answer);
  };
  const patched = (path: string, body: object, headers: Record<string, string> = MERGE): Promise<Answer> =>
    cluster.http.send({ method: 'PATCH', path, body: JSON.stringify(body), headers });
  const statusOf = async (path: string): Promise<number> => (await cluster.http.get(path)).status;
  const adoption = async (): Promise<JsonObject> =>
    objectAt(treeOf(await cluster.http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${ODD}`)), 'status') ?? {};
  const all = async (): Promise<Map<string, JsonObject>> => {
    const found = new Map<string, JsonObject>();
    for (const path of [pathOf('things', '', 'v2'), pathOf('things'), pathOf('looses'), realmPath()]) {
      for (const object of digList(treeOf(await read(cluster.http, path)), 'items') as JsonObject[])
        found.set(`${path} ${digText(object, 'metadata', 'name')}`, object);
    }
    return found;
  };

  test('creates objects of every kind', async () => {
    const { kubectl, http } = cluster;
    await available(cluster, 'kubeannex.io', 'v1alpha1');
    await kubectl.ok(['create', 'namespace', NAMESPACE]);
    for (const stdin of [things(converter.conversion), realms(), loose(false)])
      await kubectl.ok(['create', '-f', '-'], { stdin });
    for (const server of cluster.https) {
      for (const path of [pathOf('things'), pathOf('looses'), realmPath()])
        await eventually(path, async () => ((await server.get(path)).status === 200 ? true : undefined));
    }
    const realm = await made(realmPath(), objectText('Realm', 'v1', { name: 'r.1-x' }, { free: { a: 1 } }));
    const outside = await made(
      `/api/v1/namespaces/${NAMESPACE}/configmaps`,
      JSON.stringify({ metadata: { name: 'outside' } }),
    );
    const map = (name: string, owner: JsonObject, more: JsonObject = {}): Promise<JsonObject> =>
      made(
        `/api/v1/namespaces/${NAMESPACE}/configmaps`,
        JSON.stringify({ metadata: { name, ownerReferences: [ownedBy(owner, more)] } }),
      );
    const thing = (name: string, metadata: JsonObject, spec: JsonObject, version = 'v1'): Promise<JsonObject> =>
      made(pathOf('things', '', version), objectText('Thing', version, { name, ...metadata }, spec));
    const owner = { ...outside, apiVersion: 'v1', kind: 'ConfigMap' };
    await thing('of-outside', { ownerReferences: [ownedBy(owner)] }, { size: 'a' });
    await thing('of-realm', { ownerReferences: [ownedBy(realm)] }, { size: 'b' });
    const parent = await thing('parent', { finalizers: ['example.com/a', 'example.com/b'] }, { size: 'c' }, 'v1');
    await map('of-parent', parent);
    await thing('of-parent', { ownerReferences: [ownedBy(parent)] }, { width: 'd' }, 'v2');
    // Keys that are hard to handle in MongoDB, JSON pointers, JavaScript, and for people.
    const keys = { 'a.b/$c~1': 1, $set: { '': null }, __proto__x: [], 'ü\u2028 ': '\u{1f600}', constructor: 1.5 };
    await thing(
      '0.1-2.x',
      { labels: { 'example.com/a.b_c': 'X-y_z.0' }, annotations: { 'x.y/z': '{"a":"\\"$"}' } },
      { free: keys },
    );
    await thing('n'.repeat(253), {}, { free: { list: [[], {}, [1, 2.5, -0.5, 1e21, 9007199254740991]] } });
    await thing('large', {}, { free: { text: 'x'.repeat(1_000_000) } });
    for (const [manager, spec] of [
      ['one', { size: 'mine' }],
      ['two', { free: { b: { c: 1 } } }],
      ['three', { replicas: 3 }],
    ] as const) {
      const body = { apiVersion: `${ODD}/v1`, kind: 'Thing', metadata: { name: 'shared' }, spec };
      expect((await patched(`${pathOf('things', 'shared')}?fieldManager=${manager}`, body, APPLY)).status).toBeLessThan(
        300,
      );
    }
    await patched(`${pathOf('things', 'shared')}/status?fieldManager=four`, { status: { replicas: 2, phase: 'up' } });
    // Foreground deletion: the object stays, because its dependent has a finalizer.
    const going = await thing('going', {}, { size: 'e' });
    await map('of-going', going, { blockOwnerDeletion: true });
    await patched(mapPath('of-going'), { metadata: { finalizers: ['example.com/hold'] } });
    const foreground = {
      method: 'DELETE',
      path: pathOf('things', 'going'),
      body: JSON.stringify({ propagationPolicy: 'Foreground' }),
    };
    expect((await http.send(foreground)).status).toBe(200);
    await eventually('the dependent is being deleted', async () =>
      digText(treeOf(await http.get(mapPath('of-going'))), 'metadata', 'deletionTimestamp') === '' ? undefined : true,
    );
    for (let i = 0; i < SMALL; i++) await thing(`small-${i}`, {}, { size: `s${i}` });
    for (const [i, colour] of ['red', 'green', 'pink', 'beige'].entries())
      await made(pathOf('looses'), objectText('Loose', 'v1', { name: `loose-${i}` }, { colour }));
    if (!reconcilerMissing) reconciler = new Reconciler(cluster.adminConfig, ODD, 'Thing', NAMESPACE);
  });

  test('the rehearsal follows a changed definition and counts the objects that violate it', async () => {
    const { kubectl } = cluster;
    const text = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: ODD }, spec: {} };
    await kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(text) });
    await condition(cluster, `adoption/${ODD}`, 'InSync', ({ status }) => status === 'True');
    const invalid = async (): Promise<unknown> =>
      (digList(await adoption(), 'resources') as JsonObject[]).find(({ resource }) => resource === 'looses')?.[
        'invalid'
      ];
    expect(await invalid()).toBe(0);
    await kubectl.ok(['apply', '-f', '-'], { stdin: loose(true) });
    await eventually('two objects are counted', async () => ((await invalid()) === 2 ? true : undefined));
    const accepted = await condition(cluster, `adoption/${ODD}`, 'Accepted', ({ message }) =>
      message.includes('predate'),
    );
    expect(accepted).toMatchObject({ status: 'True' });
    expect(accepted.message).toMatch(
      /2 objects predate their schema .* odd\/loose-[23]: spec.colour: Unsupported value/,
    );
    if (reconciler !== undefined) {
      await eventually('each object has its ConfigMap', async () =>
        (await statusOf(mapPath(`small-${SMALL - 1}`))) === 200 ? true : undefined,
      );
    }
  });

  test('objects are unchanged in each version', async () => {
    await eventually('nothing changes any more', async () => {
      const [first, second] = [await all(), await all()];
      for (const [key, object] of second) before.set(key, object);
      return JSON.stringify([...first.values()]) === JSON.stringify([...second.values()]) ? true : undefined;
    });
    const patch = '{"spec":{"servedBy":"Annex"}}';
    await cluster.kubectl.ok(['patch', 'adoption', ODD, '--type=merge', '-p', patch]);
    const switched = await condition(
      cluster,
      `adoption/${ODD}`,
      'Switched',
      ({ status, reason }) => status === 'True' || reason === 'Failed',
    );
    say(switched.message);
    expect(switched).toMatchObject({ status: 'True', reason: 'Served' });
    const now = await all();
    expect([...now.keys()].sort()).toEqual([...before.keys()].sort());
    for (const [key, object] of before) expect([key, now.get(key)]).toEqual([key, object]);
    const managers = digList(now.get(`${pathOf('things')} shared`), 'metadata', 'managedFields').map((one) =>
      digText(one, 'manager'),
    );
    expect(managers.sort()).toEqual(['four', 'one', 'three', 'two']);
    const service = await cluster.kubectl.ok(['get', 'apiservice', `v2.${ODD}`, '-o', 'jsonpath={.spec.service.name}']);
    expect(service).toBe('annex');
  });

  test('objects accept writes in each version, by scale, status, and apply', async () => {
    const { http, kubectl } = cluster;
    const asked = converter.converted;
    expect((await patched(pathOf('things', 'of-realm', 'v2'), { spec: { width: 'bb' } })).status).toBe(200);
    expect(digText(treeOf(await http.get(pathOf('things', 'of-realm'))), 'spec', 'size')).toBe('bb');
    expect(converter.converted).toBeGreaterThan(asked);
    await kubectl.ok(['-n', NAMESPACE, 'scale', `things.${ODD}/small-0`, '--replicas=7']);
    expect(treeOf(await http.get(pathOf('things', 'small-0')))).toMatchObject({ spec: { replicas: 7 } });
    expect((await patched(`${pathOf('things', 'small-0')}/status`, { status: { replicas: 7 } })).status).toBe(200);
    const taken = { apiVersion: `${ODD}/v1`, kind: 'Thing', metadata: { name: 'shared' }, spec: { size: 'theirs' } };
    expect((await patched(`${pathOf('things', 'shared')}?fieldManager=two`, taken, APPLY)).status).toBe(409);
    expect((await patched(realmPath('r.1-x'), { spec: { free: { a: 2 } } })).status).toBe(200);
    expect((await patched(pathOf('things', 'large'), { metadata: { labels: { a: 'b' } } })).status).toBe(200);
  });

  test('an object that violates its schema may stay, but not change to another invalid value', async () => {
    expect((await patched(pathOf('looses', 'loose-2'), { spec: { note: 'kept' } })).status).toBe(200);
    expect((await patched(pathOf('looses', 'loose-2'), { spec: { colour: 'mauve' } })).status).toBe(422);
    expect((await patched(pathOf('looses', 'loose-2'), { spec: { colour: 'red' } })).status).toBe(200);
    const columns = await cluster.kubectl.ok(['-n', NAMESPACE, 'get', `looses.${ODD}`]);
    expect(columns).toMatch(/^NAME +COLOUR/);
  });

  test('owner references and dependents on both sides still work', async () => {
    const { http, kubectl } = cluster;
    const gone = (path: string): Promise<unknown> =>
      eventually(`${path} is gone`, async () => ((await statusOf(path)) === 404 ? true : undefined));
    if (reconciler !== undefined) {
      // Each object keeps its ConfigMap, and the controller updates it after a change.
      await patched(pathOf('things', 'small-1'), { spec: { size: 'new' } });
      await eventually('the controller goes on', async () =>
        digText(treeOf(await http.get(mapPath('small-1'))), 'data', 'size') === 'new' ? true : undefined,
      );
      const names = [...before.keys()].filter((key) => key.startsWith(`${pathOf('things')} small-`));
      for (const key of names) {
        const map = treeOf(await http.get(mapPath(key.split(' ')[1] ?? '')));
        expect(digText(map, 'metadata', 'ownerReferences', 0, 'uid')).toBe(digText(before.get(key), 'metadata', 'uid'));
      }
      expect(names).toHaveLength(SMALL);
    }
    await patched(mapPath('of-going'), { metadata: { finalizers: null } });
    await gone(pathOf('things', 'going'));
    await http.send({ method: 'DELETE', path: pathOf('things', 'parent') });
    expect(await statusOf(pathOf('things', 'parent'))).toBe(200);
    await patched(pathOf('things', 'parent'), { metadata: { finalizers: ['example.com/b'] } });
    await patched(pathOf('things', 'parent'), { metadata: { finalizers: null } });
    for (const path of [pathOf('things', 'parent'), pathOf('things', 'of-parent'), mapPath('of-parent')])
      await gone(path);
    await kubectl.ok(['-n', NAMESPACE, 'delete', 'configmap', 'outside']);
    await gone(pathOf('things', 'of-outside'));
    await kubectl.ok(['delete', `realms.${ODD}`, 'r.1-x']);
    await gone(pathOf('things', 'of-realm'));
    await http.send({ method: 'DELETE', path: pathOf('things', 'small-2') });
    if (reconciler !== undefined) {
      await gone(mapPath('small-2'));
      expect(await statusOf(mapPath('small-3'))).toBe(200);
    }
  });

  test('objects go back unchanged in each version, and no dependent is lost', async () => {
    const { http, kubectl } = cluster;
    const served = await all();
    const schemas = (type: string): Promise<string> =>
      kubectl.ok([
        'get',
        type,
        `things.${ODD}`,
        '-o',
        'jsonpath={.spec.versions[*].schema}{.spec.conversion.strategy}',
      ]);
    const known = await schemas('resourcedefinition');
    const patch = '{"spec":{"servedBy":"Cluster","dependents":"Abandon"}}';
    await kubectl.ok(['patch', 'adoption', ODD, '--type=merge', '-p', patch]);
    const returned = await condition(
      cluster,
      `adoption/${ODD}`,
      'Returned',
      ({ status, reason }) => status === 'True' || reason === 'Refused',
    );
    say(returned.message);
    expect(returned.status).toBe('True');
    const now = await all();
    expect([...now.keys()].sort()).toEqual([...served.keys()].sort());
    const content = (object: JsonObject | undefined): unknown => {
      const { resourceVersion: _, generation: __, ...metadata } = objectAt(object, 'metadata') ?? {};
      return { ...object, metadata };
    };
    for (const [key, object] of served) expect([key, content(now.get(key))]).toEqual([key, content(object)]);
    await eventually('the back door is closed, and the definition as it was', async () =>
      (await schemas('crd')) === known ? true : undefined,
    );
    const service = await kubectl.ok(['get', 'apiservice', `v2.${ODD}`, '-o', 'jsonpath={.spec.service}']);
    expect(service).toBe('');
    const asked = converter.converted;
    await eventually('the cluster takes writes, and converts', async () => {
      const { status } = await patched(pathOf('things', 'shared', 'v2'), { spec: { width: 'back' } });
      return status === 200 ? true : undefined;
    });
    expect(digText(treeOf(await http.get(pathOf('things', 'shared'))), 'spec', 'size')).toBe('back');
    expect(converter.converted).toBeGreaterThan(asked);
    if (reconciler === undefined) return;
    await patched(pathOf('things', 'small-3'), { spec: { size: 'home' } });
    await eventually('the controller goes on', async () =>
      digText(treeOf(await http.get(mapPath('small-3'))), 'data', 'size') === 'home' ? true : undefined,
    );
    const did = await reconciler.end();
    say(JSON.stringify(did));
    // The controller created each ConfigMap once, so the garbage collector deleted none of them by mistake. Two objects do not count:
    // the one that was being deleted gets no ConfigMap, and the ConfigMap of of-parent existed before.
    expect(did['created']).toBe([...before.keys()].filter((key) => key.startsWith(`${pathOf('things')} `)).length - 2);
  });
});
