import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { ClusterError } from '../../client/cluster-client.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { ClusterConfigurations } from './cluster-configurations.js';
import { FakeCluster, settle } from '../../../test/fakes/aggregation/cluster.js';

const GROUP = '/apis/admissionregistration.k8s.io';
const POLICIES = `${GROUP}/v1/mutatingadmissionpolicies`;

const policy = (name: string, generation = 1, over: object = {}): KubeObject => ({
  metadata: { name, uid: `uid of ${name}`, generation, managedFields: [{ manager: 'm' }] },
  spec: { generation },
  ...over,
});

function setUp(served: Record<string, string[]> = { v1: ['MutatingAdmissionPolicy mutatingadmissionpolicies!'] }) {
  const cluster = new FakeCluster();
  for (const [version, resources] of Object.entries(served)) cluster.served.set(`${GROUP}/${version}`, resources);
  const clock = new FakeClock();
  const reported: string[] = [];
  const source = new ClusterConfigurations({
    client: cluster,
    clock,
    resource: 'mutatingadmissionpolicies',
    kind: 'MutatingAdmissionPolicy',
    ignores: (name) => name === 'of-the-cluster',
    events: {
      changed: (_, what) => reported.push(what),
      broken: (_, error) => reported.push(`broken: ${(error as Error).message}`),
      responded: () => undefined,
    },
  });
  const stop = new AbortController();
  void source.follow(stop.signal);
  return { cluster, clock, reported, source, stop };
}

const names = (source: ClusterConfigurations): (string | undefined)[] =>
  source.objects().map(({ metadata }) => metadata.name);

test('lists the objects of the cluster, sorted, in v1 form, once the first list is read', async () => {
  const { cluster, source, reported } = setUp();
  await settle();
  expect([source.synced(), source.objects()]).toEqual([false, []]);
  const synced = source.whenSynced();
  cluster.list(POLICIES, policy('b'), policy('of-the-cluster'), policy('a'));
  await synced;
  expect([source.synced(), names(source), source.generation]).toEqual([true, ['a', 'b'], 1]);
  expect(source.objects()[0]).toEqual({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'a', uid: 'uid of a', generation: 1 },
    spec: { generation: 1 },
  });
  expect(reported).toEqual(['3 read']);
});

test('changes are followed; a changed status is not a change', async () => {
  const { cluster, source, reported } = setUp();
  await settle();
  cluster.list(POLICIES, policy('a'), policy('b'));
  const [a] = source.objects();
  let responded = 0;
  source.subscribe(() => responded++);
  cluster.notify(POLICIES, (watch) => {
    watch.upsert(policy('a', 1, { status: { observedGeneration: 1 } }));
  });
  expect([source.generation, responded]).toEqual([1, 0]);
  expect(source.objects()[0]).toBe(a);
  cluster.notify(POLICIES, (watch) => {
    watch.upsert(policy('a', 2));
    watch.upsert(policy('c'));
    watch.delete(policy('b'));
    watch.delete(policy('unknown'));
  });
  expect([names(source), source.generation, responded]).toEqual([['a', 'c'], 4, 3]);
  expect(source.objects()[0]).toMatchObject({ spec: { generation: 2 } });
  expect(reported).toEqual(['2 read', 'changed a', 'added c', 'deleted b']);
});

test('a new list removes deleted objects, and keeps unchanged ones', async () => {
  const { cluster, source, reported } = setUp();
  await settle();
  cluster.list(POLICIES, policy('a'), policy('b'), policy('c'));
  const [a] = source.objects();
  cluster.list(POLICIES, policy('a'), policy('b', 2));
  expect(names(source)).toEqual(['a', 'b']);
  expect(source.objects()[0]).toBe(a);
  cluster.list(POLICIES, policy('a'), policy('b', 2));
  expect(reported).toEqual(['3 read', 'changed b, deleted c']);
  // The object was recreated with another UID.
  cluster.list(POLICIES, { ...policy('a'), metadata: { name: 'a', uid: 'other', generation: 1 } }, policy('b', 2));
  expect(reported.at(-1)).toBe('changed a');
});

test('objects of an older cluster are read in an earlier version', async () => {
  const { cluster, source } = setUp({
    v1: ['ValidatingAdmissionPolicy validatingadmissionpolicies!'],
    v1alpha1: ['MutatingAdmissionPolicy mutatingadmissionpolicies!'],
  });
  await settle();
  cluster.list(`${GROUP}/v1alpha1/mutatingadmissionpolicies`, policy('a'));
  expect(source.objects()[0]).toMatchObject({ apiVersion: 'admissionregistration.k8s.io/v1' });
});

test('a cluster that does not serve the type has no objects until it does', async () => {
  const { cluster, clock, source } = setUp({ v1: [] });
  await settle();
  expect([source.synced(), source.objects(), source.ageSeconds()]).toEqual([true, [], 0]);
  cluster.served.set(`${GROUP}/v1`, ['MutatingAdmissionPolicy mutatingadmissionpolicies!']);
  clock.advance(60_000);
  await settle();
  cluster.list(POLICIES, policy('a'));
  expect(names(source)).toEqual(['a']);
});

test('if the cluster stops serving the version, the type is discovered again', async () => {
  const { cluster, clock, source } = setUp({ v1beta1: ['MutatingAdmissionPolicy mutatingadmissionpolicies!'] });
  await settle();
  const beta = `${GROUP}/v1beta1/mutatingadmissionpolicies`;
  cluster.list(beta, policy('a'));
  cluster.served.delete(`${GROUP}/v1beta1`);
  cluster.served.set(`${GROUP}/v1`, ['MutatingAdmissionPolicy mutatingadmissionpolicies!']);
  cluster.at(beta).failed(new ClusterError(404, 'not found'));
  await settle();
  clock.advance(2_000);
  await settle();
  expect([...cluster.followed.keys()]).toEqual([POLICIES]);
  expect(names(source)).toEqual(['a']);
});

test('the last objects stay in force while the cluster is unavailable, and their age grows', async () => {
  const { cluster, clock, source, reported } = setUp();
  clock.advance(3_000);
  expect(source.ageSeconds()).toBe(3);
  await settle();
  cluster.list(POLICIES, policy('a'));
  clock.advance(60_000);
  expect(source.ageSeconds()).toBe(0);
  cluster.at(POLICIES).failed(new ClusterError(0, 'connect ECONNREFUSED'));
  clock.advance(5_000);
  expect([source.ageSeconds(), names(source), source.synced()]).toEqual([65, ['a'], true]);
  cluster.notify(POLICIES, () => undefined);
  expect(source.ageSeconds()).toBe(0);
  expect(reported).toEqual(['1 read', 'broken: connect ECONNREFUSED']);
});

test('a cluster that is unavailable at the start is retried', async () => {
  const { cluster, clock, source, reported } = setUp({});
  cluster.refusal = new ClusterError(0, 'connect ECONNREFUSED');
  await settle();
  expect([source.synced(), reported]).toEqual([false, ['broken: connect ECONNREFUSED']]);
  cluster.refusal = undefined;
  cluster.served.set(`${GROUP}/v1`, ['MutatingAdmissionPolicy mutatingadmissionpolicies!']);
  clock.advance(2_000);
  await settle();
  cluster.list(POLICIES, policy('a'));
  expect(names(source)).toEqual(['a']);
  expect(reported.at(-1)).toBe('1 read');
});
