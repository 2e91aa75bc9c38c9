import type { ParamStore } from '../../admission/sources.js';
import { labelSelectorFromObject } from '../../apimachinery/selectors/label-selector-object.js';
import { formatGroupVersionKind, type GroupVersionKind, type KubeObject } from '../../apimachinery/meta/meta.js';
import { ClusterError } from '../../client/cluster-client.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { ClusterParams } from './cluster-params.js';
import { FakeCluster, settle } from '../../../test/fakes/aggregation/cluster.js';

const CONFIGMAP = { group: '', version: 'v1', kind: 'ConfigMap' };
const SIZE = { group: 'example.com', version: 'v1', kind: 'Size' };
const OWN = { group: 'wgpolicyk8s.io', version: 'v1alpha2', kind: 'PolicyReport' };
const MAPS = '/api/v1/configmaps';

const object = (namespace: string, name: string, labels: Record<string, string> = {}): KubeObject => ({
  metadata: { ...(namespace !== '' && { namespace }), name, labels },
});

const LOCAL: ParamStore = { namespaced: true, synced: () => true, get: () => undefined, list: () => [] };

function setUp() {
  const cluster = new FakeCluster();
  cluster.served.set('/api/v1', ['ConfigMap configmaps', 'Scale replicationcontrollers/scale']);
  const clock = new FakeClock();
  const reported: string[] = [];
  const note = (what: string) => (kind: GroupVersionKind, error?: unknown) => {
    const text = error instanceof Error ? `: ${error.message}` : '';
    reported.push(`${what} ${formatGroupVersionKind(kind)}${text}`);
  };
  const params = new ClusterParams({
    client: cluster,
    clock,
    local: { open: (kind) => (kind.group === OWN.group ? LOCAL : undefined), retain: () => undefined },
    events: { broken: note('broken'), responded: note('responded'), forgotten: note('forgotten') },
  });
  return { cluster, clock, reported, params };
}

const names = (objects: readonly KubeObject[]): (string | undefined)[] => objects.map(({ metadata }) => metadata.name);

test('a kind is followed from the first open; params are found by name and by selector', async () => {
  const { cluster, params } = setUp();
  expect(cluster.asked).toEqual([]);
  const store = await params.open(CONFIGMAP);
  expect(store?.namespaced).toBe(true);
  const synced = store?.synced();
  cluster.list(MAPS, object('ns', 'b', { size: 'l' }), object('ns', 'a', { size: 'l' }), object('other', 'a'));
  expect([await synced, store?.synced()]).toEqual([true, true]);
  expect(await store?.get('ns', 'a')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } });
  expect(await store?.get('ns', 'c')).toBeUndefined();
  const list = async (selector: object): Promise<(string | undefined)[]> =>
    names((await store?.list('ns', labelSelectorFromObject(selector as never))) ?? []);
  expect(await list({})).toEqual(['a', 'b']);
  cluster.notify(MAPS, (watch) => {
    watch.upsert(object('ns', 'a', { size: 's' }));
    watch.upsert(object('ns', 'c', { size: 'l' }));
    watch.delete(object('ns', 'b'));
  });
  expect(await list({ matchLabels: { size: 'l' } })).toEqual(['c']);
  expect(params.open(CONFIGMAP)).toBe(store);
  expect(cluster.asked).toEqual(['/api/v1']);
});

test('kinds of this server are read from the local store', () => {
  const { cluster, params } = setUp();
  expect(params.open(OWN)).toBe(LOCAL);
  expect(cluster.asked).toEqual([]);
});

test('a kind that the cluster does not serve is looked up again, at most once a second', async () => {
  const { cluster, clock, params, reported } = setUp();
  expect(await params.open(SIZE)).toBeUndefined();
  expect(params.open(SIZE)).toBeUndefined();
  expect(cluster.asked).toHaveLength(1);
  expect(reported).toEqual(['broken example.com/v1, Kind=Size: the cluster does not serve the kind']);
  cluster.served.set('/apis/example.com/v1', ['Size sizes!']);
  clock.advance(1_000);
  const store = await params.open(SIZE);
  expect(store?.namespaced).toBe(false);
  cluster.list('/apis/example.com/v1/sizes', object('', 'mine'));
  expect(await store?.get('', 'mine')).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Size' });
});

test('failed discovery is retried', async () => {
  const { cluster, clock, params, reported } = setUp();
  cluster.refusal = new ClusterError(0, 'connect ECONNREFUSED');
  expect(await params.open(CONFIGMAP)).toBeUndefined();
  expect(reported).toEqual(['broken /v1, Kind=ConfigMap: connect ECONNREFUSED']);
  cluster.refusal = undefined;
  clock.advance(1_000);
  expect(await params.open(CONFIGMAP)).toBeDefined();
});

test('a request waits a second for the first list, and not at all once that failed', async () => {
  const { cluster, clock, params, reported } = setUp();
  const store = await params.open(CONFIGMAP);
  const waiting = store?.synced();
  expect(waiting).toBeInstanceOf(Promise);
  clock.advance(1_000);
  expect(await waiting).toBe(false);
  const refused = store?.synced();
  cluster.at(MAPS).failed(new ClusterError(403, 'configmaps is forbidden'));
  expect([await refused, store?.synced()]).toEqual([false, false]);
  expect(reported).toEqual(['broken /v1, Kind=ConfigMap: configmaps is forbidden']);
  // The permission is granted.
  cluster.list(MAPS, object('ns', 'a'));
  expect(store?.synced()).toBe(true);
  // Params that were listed once stay readable while the cluster is unavailable.
  cluster.at(MAPS).failed(new ClusterError(0, 'connect ECONNREFUSED'));
  expect([store?.synced(), await store?.get('ns', 'a')]).toMatchObject([true, { metadata: { name: 'a' } }]);
});

test('kinds are followed while policies refer to them', async () => {
  const { cluster, params, reported } = setUp();
  cluster.served.set('/apis/example.com/v1', ['Size sizes!']);
  params.retain([CONFIGMAP, SIZE, CONFIGMAP, OWN]);
  await settle();
  expect([...cluster.followed.keys()]).toEqual([MAPS, '/apis/example.com/v1/sizes']);
  params.retain([CONFIGMAP]);
  expect([...cluster.followed.keys()]).toEqual([MAPS]);
  params.retain([]);
  expect(cluster.followed.size).toBe(0);
  expect(reported).toEqual(['forgotten example.com/v1, Kind=Size', 'forgotten /v1, Kind=ConfigMap']);
});

test('a kind that the cluster no longer serves is dropped', async () => {
  const { cluster, params } = setUp();
  await params.open(CONFIGMAP);
  cluster.list(MAPS, object('ns', 'a'));
  cluster.served.clear();
  cluster.at(MAPS).failed(new ClusterError(404, 'not found'));
  expect(cluster.followed.size).toBe(0);
  expect(await params.open(CONFIGMAP)).toBeUndefined();
});

test('a kind with too many objects is dropped', async () => {
  const { cluster, params, reported } = setUp();
  const store = await params.open(CONFIGMAP);
  cluster.list(MAPS, ...Array.from({ length: 50_001 }, (_, i) => object('ns', `m${i}`)));
  expect([store?.synced(), await store?.get('ns', 'm1'), cluster.followed.size]).toEqual([false, undefined, 0]);
  expect(reported).toEqual(['broken /v1, Kind=ConfigMap: there are more than 50000 objects of this kind']);
});

test('nothing is followed after the stop', async () => {
  const { cluster, params } = setUp();
  await params.open(CONFIGMAP);
  params.stop();
  expect([cluster.followed.size, params.open(CONFIGMAP)]).toEqual([0, undefined]);
});
