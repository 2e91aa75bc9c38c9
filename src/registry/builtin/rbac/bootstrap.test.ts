import { readFileSync } from 'node:fs';
import { ApiError, newConflict } from '../../../apimachinery/meta/errors.js';
import type { JsonValue } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { FakeLoopbackClients, type FakeLoopbackClient } from '../../../../test/fakes/registry/loopback-client.js';
import { ensureRbacDefaults, parseRbacDefaults, type BootstrapDependencies } from './bootstrap.js';

const GROUP = 'rbac.authorization.k8s.io';
const defaults = parseRbacDefaults(JSON.parse(readFileSync('data/rbac-defaults.json', 'utf8')) as JsonValue);

class Bed {
  readonly clients = new FakeLoopbackClients();
  readonly clock = new FakeClock();
  readonly failures: string[] = [];
  readonly dependencies: BootstrapDependencies = {
    clients: this.clients,
    clock: this.clock,
    signal: new AbortController().signal,
    failed: (text) => this.failures.push(text),
  };

  type(resource: string, group = GROUP): FakeLoopbackClient {
    return this.clients.for({ group, resource });
  }

  /** Creates the default objects, and advances the clock until that is done. */
  async run(objects: readonly KubeObject[] = defaults): Promise<void> {
    const state = { done: false };
    const run = ensureRbacDefaults(objects, this.dependencies).finally(() => (state.done = true));
    run.catch(() => undefined);
    while (!state.done) {
      await new Promise(setImmediate);
      this.clock.advance(1_000);
    }
    return run;
  }

  writes(): string[] {
    return ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].flatMap((resource) =>
      this.type(resource).calls.filter((call) => !/^(get|list) /.test(call)),
    );
  }
}

test('creates all defaults, and a second start changes nothing', async () => {
  const bed = new Bed();
  await bed.run();
  const count = (kind: string): number => defaults.filter((object) => object.kind === kind).length;
  expect(bed.type('clusterroles').objects.size).toBe(count('ClusterRole'));
  expect(bed.type('rolebindings').objects.size).toBe(count('RoleBinding'));
  expect([...bed.type('namespaces', '').objects.keys()].sort()).toEqual(['kube-public', 'kube-system']);
  const before = bed.writes().length;
  expect(before).toBe(defaults.length);
  await bed.run();
  expect(bed.writes()).toHaveLength(before);
  expect(bed.failures).toEqual([]);
});

test('restores removed rules, recreates bindings with another roleRef, and leaves protected objects', async () => {
  const bed = new Bed();
  await bed.run();
  const roles = bed.type('clusterroles');
  const bindings = bed.type('clusterrolebindings');
  const change = (client: FakeLoopbackClient, name: string, more: Partial<KubeObject>): void => {
    const old = client.objects.get(name)!;
    client.put({ ...old, ...more, metadata: { ...old.metadata, ...more.metadata } });
  };
  change(roles, 'system:discovery', { rules: [] });
  change(roles, 'view', {
    rules: [],
    metadata: { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } },
  });
  change(roles, 'system:node', {
    rules: [],
    metadata: { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } },
  });
  change(bindings, 'cluster-admin', { subjects: [{ kind: 'User', apiGroup: GROUP, name: 'me' }] });
  change(bindings, 'system:basic-user', { roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'view' } });
  const uid = bindings.objects.get('system:basic-user')?.metadata.uid;
  await bed.run();
  expect(roles.objects.get('system:discovery')!['rules']).not.toEqual([]);
  expect(roles.objects.get('system:node')!['rules']).toEqual([]);
  expect(bindings.objects.get('cluster-admin')!['subjects']).toHaveLength(2);
  expect(bindings.objects.get('system:basic-user')).toMatchObject({ roleRef: { name: 'system:basic-user' } });
  expect(bindings.objects.get('system:basic-user')?.metadata.uid).not.toBe(uid);
});

test('a binding that was split off copies the subjects of its source', async () => {
  const bed = new Bed();
  await bed.run();
  const bindings = bed.type('clusterrolebindings');
  const source = bindings.objects.get('system:discovery')!;
  bindings.put({ ...source, subjects: [{ kind: 'User', apiGroup: GROUP, name: 'only' }] });
  bindings.objects.delete('system:public-info-viewer');
  await bed.run();
  expect(bindings.objects.get('system:public-info-viewer')!['subjects']).toMatchObject([
    { name: 'only' },
    { name: 'system:authenticated' },
    { name: 'system:unauthenticated' },
  ]);
});

test('retries conflicts at once, other failures in the next round, and creates the rest meanwhile', async () => {
  const bed = new Bed();
  const roles = bed.type('clusterroles');
  let conflicts = 2;
  let outages = 1;
  roles.before = (call) => {
    if (call === 'create admin' && conflicts-- > 0)
      throw newConflict({ group: GROUP, resource: 'clusterroles' }, 'admin', 'x');
    if (call === 'create edit' && outages-- > 0) throw new ApiError(500, '', 'out of order');
  };
  await bed.run();
  expect(roles.objects.has('admin') && roles.objects.has('edit')).toBe(true);
  expect(bed.failures).toEqual([
    expect.stringContaining(`unable to reconcile clusterrole.${GROUP}/edit: ApiError: out of order`),
  ]);
});

test('gives up after 30 seconds', async () => {
  const bed = new Bed();
  bed.type('clusterroles').before = () => {
    throw new ApiError(500, '', 'out of order');
  };
  await expect(bed.run(defaults.slice(0, 1))).rejects.toThrow('unable to initialize roles');
  expect(bed.failures).toHaveLength(30);
});

test('admin and edit cannot write EndpointSlices', () => {
  const writers = defaults.filter(
    ({ kind, metadata: { name = '' }, rules }) =>
      kind === 'ClusterRole' &&
      /^(admin|edit|system:aggregate-to-(admin|edit))$/.test(name) &&
      JSON.stringify(rules ?? []).includes('endpointslices'),
  );
  expect(writers).toEqual([]);
});
