import { NodeGraph } from '../../../authorization/node/node-graph.js';
import { RbacIndex } from '../../../authorization/rbac/rbac-index.js';
import { FakeTypeClients } from '../../rest/type-client.fake.js';
import type { TypeClients, TypeListener } from '../../rest/type-client.js';
import { feedNodeGraph, feedRbacIndex } from './feed.js';

const GROUP = 'rbac.authorization.k8s.io';

test('the index follows all four kinds', async () => {
  const clients = new FakeTypeClients();
  const index = new RbacIndex();
  const ready = jest.fn();
  clients.for({ group: GROUP, resource: 'roles' }).put({ metadata: { namespace: 'n', name: 'r' }, rules: [] });
  feedRbacIndex(index, clients, ready, new AbortController().signal);
  expect(ready).toHaveBeenCalledTimes(1);
  expect(index.size()).toEqual({ roles: 1, bindings: 0 });
  const bindings = clients.for({ group: GROUP, resource: 'rolebindings' });
  await bindings.create({ metadata: { namespace: 'n', name: 'b' }, roleRef: { kind: 'Role', name: 'r' } });
  expect(index.size()).toEqual({ roles: 1, bindings: 1 });
  await bindings.delete('n', 'b');
  await clients.for({ group: GROUP, resource: 'roles' }).delete('n', 'r');
  expect(index.size()).toEqual({ roles: 0, bindings: 0 });
});

test('after a gap nothing is forgotten until the new state is complete', () => {
  const listeners = new Map<string, TypeListener>();
  const fake = new FakeTypeClients();
  const clients: TypeClients = {
    for: (type) =>
      Object.assign(fake.for(type), { watch: (listener: TypeListener) => void listeners.set(type.resource, listener) }),
  };
  const index = new RbacIndex();
  feedRbacIndex(index, clients, () => undefined, new AbortController().signal);
  const roles = listeners.get('roles')!;
  const role = (name: string) => ({ metadata: { namespace: 'n', name }, rules: [] });
  roles.upsert(role('a'));
  roles.upsert(role('b'));
  roles.synced();
  roles.reset();
  roles.upsert(role('c'));
  expect(index.roleRules({ apiGroup: GROUP, kind: 'Role', name: 'a' }, 'n')).toEqual([]);
  roles.synced();
  expect(['a', 'b', 'c'].map((name) => index.roleRules({ apiGroup: GROUP, kind: 'Role', name }, 'n'))).toEqual([
    undefined,
    undefined,
    [],
  ]);
});

test('the graph follows pods and volumes', async () => {
  const clients = new FakeTypeClients();
  const graph = new NodeGraph();
  feedNodeGraph(graph, clients, new AbortController().signal);
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
  clients
    .for({ group: '', resource: 'pods' })
    .put({ metadata: { namespace: 'n', name: 'p' }, spec: { nodeName: 'n1', volumes } });
  clients
    .for({ group: '', resource: 'persistentvolumes' })
    .put({ metadata: { name: 'pv' }, spec: { claimRef: { namespace: 'n', name: 'c' } } });
  expect(graph.reaches('n1', 'persistentvolume', '', 'pv')).toBe(true);
  await clients.for({ group: '', resource: 'pods' }).delete('n', 'p');
  expect(graph.reaches('n1', 'persistentvolume', '', 'pv')).toBe(false);
});
