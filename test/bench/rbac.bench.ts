import type { AuthorizerAttributes } from '../../src/authorization/authorizer/interfaces.js';
import { RbacIndex } from '../../src/authorization/rbac/rbac-index.js';

/**
 * Microseconds per decision of the RBAC index, with few and with many bindings:
 *
 *     node test/bench/managedfields-run.mjs test/bench/rbac.bench.ts
 */

const GROUP = 'rbac.authorization.k8s.io';
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

interface Layout {
  readonly name: string;
  /** Fills the index with `bindings` bindings, one of which lets `user` get the config maps of `ns-7`. */
  readonly fill: (index: RbacIndex, bindings: number) => void;
}

const role = (name: string, resource: string, resourceNames?: string[]) => ({
  metadata: { name },
  rules: [
    {
      apiGroups: ['', 'apps'],
      resources: [resource, `${resource}/status`],
      verbs,
      ...(resourceNames && { resourceNames }),
    },
  ],
});
const subject = (kind: string, name: string) => ({ kind, apiGroup: GROUP, name });
const ref = (name: string) => ({ apiGroup: GROUP, kind: 'ClusterRole', name });

const layouts: readonly Layout[] = [
  {
    name: 'bindings of many users in many namespaces',
    fill: (index, bindings) => {
      index.upsert('ClusterRole', role('edit', 'configmaps'));
      for (let i = 0; i < bindings; i++) {
        const subjects = [subject('User', i === 7 ? 'user' : `u${i}`)];
        index.upsert('RoleBinding', {
          metadata: { name: `b${i}`, namespace: `ns-${i}` },
          roleRef: ref('edit'),
          subjects,
        });
      }
    },
  },
  {
    name: 'all bindings for one group, each to a role of its own',
    fill: (index, bindings) => {
      for (let i = 0; i < bindings; i++) {
        index.upsert('ClusterRole', role(`r${i}`, i === bindings - 1 ? 'configmaps' : `things${i}`));
        index.upsert('ClusterRoleBinding', {
          metadata: { name: `b${i}` },
          roleRef: ref(`r${i}`),
          subjects: [subject('Group', 'everyone')],
        });
      }
    },
  },
  {
    name: 'all bindings for one group, each to one named object of the same type',
    fill: (index, bindings) => {
      for (let i = 0; i < bindings; i++) {
        index.upsert('ClusterRole', role(`r${i}`, 'configmaps', [i === bindings - 1 ? 'wanted' : `n${i}`]));
        index.upsert('ClusterRoleBinding', {
          metadata: { name: `b${i}` },
          roleRef: ref(`r${i}`),
          subjects: [subject('Group', 'everyone')],
        });
      }
    },
  },
];

const question = (name: string): AuthorizerAttributes => ({
  user: { name: 'user', uid: '', groups: ['a', 'b', 'everyone', 'system:authenticated'], extra: {} },
  verb: 'get',
  resourceRequest: true,
  namespace: 'ns-7',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'configmaps',
  subresource: '',
  name,
  path: '',
});

function micros(run: () => void, times: number): number {
  for (let i = 0; i < times / 10; i++) run();
  const began = performance.now();
  for (let i = 0; i < times; i++) run();
  return ((performance.now() - began) * 1000) / times;
}

for (const { name, fill } of layouts) {
  for (const bindings of [10, 10_000]) {
    const index = new RbacIndex();
    const began = performance.now();
    fill(index, bindings);
    const load = performance.now() - began;
    const allowed = question('wanted');
    const refused = { ...question('wanted'), verb: 'nothing' };
    if (index.authorize(allowed).decision !== 'allow' || index.authorize(refused).decision === 'allow') {
      throw new Error(`${name}: wrong decision`);
    }
    const allow = micros(() => void index.authorize(allowed), 200_000);
    const refuse = micros(() => void index.authorize(refused), 200_000);
    const change = micros(
      () => index.upsert('ClusterRole', role(name.startsWith('bindings') ? 'edit' : 'r1', 'configmaps', ['x'])),
      20,
    );
    console.log(
      `${name}, ${bindings}: allow ${allow.toFixed(2)} µs, refuse ${refuse.toFixed(2)} µs, change of a role ${change.toFixed(0)} µs, filled in ${load.toFixed(0)} ms`,
    );
  }
}
