import { NodeGraph } from '../../../authorization/node/node-graph.js';
import { RbacIndex } from '../../../authorization/rbac/rbac-index.js';
import { FakeLoopbackClients } from '../../../../test/fakes/registry/loopback-client.js';
import type { LoopbackClients, ResourceEventHandler } from '../../rest/loopback-client.js';
import { feedNodeGraph, feedRbacIndex } from './feed.js';

const GROUP = 'rbac.authorization.k8s.io';

test('the index follows all four kinds', async () => {
  const clients = new FakeLoopbackClients();
  const index = new RbacIndex();
  clients.for({ group: GROUP, resource: 'roles' }).put({ metadata: { namespace: 'n', name: 'r' }, rules: [] });
  await feedRbacIndex(index, clients, new AbortController().signal);
  expect(index.size()).toEqual({ roles: 1, bindings: 0 });
  const bindings = clients.for({ group: GROUP, resource: 'rolebindings' });
  await bindings.create({ metadata: { namespace: 'n', name: 'b' }, roleRef: { kind: 'Role', name: 'r' } });
  expect(index.size()).toEqual({ roles: 1, bindings: 1 });
  await bindings.delete('n', 'b');
  await clients.for({ group: GROUP, resource: 'roles' }).delete('n', 'r');
  expect(index.size()).toEqual({ roles: 0, bindings: 0 });
});

test('after a reset, the index keeps its rules until the new state is complete', async () => {
  const listeners = new Map<string, ResourceEventHandler>();
  const fake = new FakeLoopbackClients();
  const clients: LoopbackClients = {
    for: (type) =>
      Object.assign(fake.for(type), {
        watch: (listener: ResourceEventHandler) => void listeners.set(type.resource, listener),
      }),
  };
  const index = new RbacIndex();
  const loaded = jest.fn();
  const loading = feedRbacIndex(index, clients, new AbortController().signal).then(loaded);
  const roles = listeners.get('roles')!;
  const role = (name: string) => ({ metadata: { namespace: 'n', name }, rules: [] });
  roles.upsert(role('a'));
  roles.upsert(role('b'));
  roles.synced?.();
  roles.reset?.();
  roles.upsert(role('c'));
  expect(index.roleRules({ apiGroup: GROUP, kind: 'Role', name: 'a' }, 'n')).toEqual([]);
  roles.synced?.();
  expect(['a', 'b', 'c'].map((name) => index.roleRules({ apiGroup: GROUP, kind: 'Role', name }, 'n'))).toEqual([
    undefined,
    undefined,
    [],
  ]);
  // Three kinds are not synced yet, so the index is not ready.
  await new Promise((resolve) => setImmediate(resolve));
  expect(loaded).not.toHaveBeenCalled();
  for (const resource of ['clusterroles', 'rolebindings', 'clusterrolebindings']) listeners.get(resource)!.synced?.();
  await loading;
  expect(loaded).toHaveBeenCalledTimes(1);
});

test('the graph follows pods and volumes', async () => {
  const clients = new FakeLoopbackClients();
  const graph = new NodeGraph();
  await feedNodeGraph(graph, clients, new AbortController().signal);
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
  clients
    .for({ group: '', resource: 'pods' })
    .put({ metadata: { namespace: 'n', name: 'p' }, spec: { nodeName: 'n1', volumes } });
  clients
    .for({ group: '', resource: 'persistentvolumes' })
    .put({ metadata: { name: 'pv' }, spec: { claimRef: { namespace: 'n', name: 'c' } } });
  expect(graph.hasPath('n1', 'persistentvolume', '', 'pv')).toBe(true);
  await clients.for({ group: '', resource: 'pods' }).delete('n', 'p');
  expect(graph.hasPath('n1', 'persistentvolume', '', 'pv')).toBe(false);
});
