import type { JsonObject } from '../../apimachinery/json/json.js';
import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { ClusterError } from '../../client/cluster-client.js';
import { ReadinessChecker } from './readiness.js';

const GROUP = 'example.com';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const crd: KubeObject = {
  metadata: { name: `widgets.${GROUP}` },
  spec: { group: GROUP, names: { plural: 'widgets' }, versions: [{ name: 'v1', served: true }] },
};
const policy = {
  metadata: { name: 'colours' },
  spec: { matchConstraints: { resourceRules: [{ apiGroups: [GROUP], resources: ['widgets'] }] } },
};

const apiService = {
  metadata: { name: `v1.${GROUP}`, labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' } },
  spec: {},
};

function setUp(admissionFromCluster = true) {
  const clock = new FakeClock();
  const state = {
    denied: '',
    served: true,
    down: false,
    asked: 0,
    listed: true,
    mayDelete: true,
    deleted: [] as string[],
    refusing: false,
  };
  const answer = (method: string, path: string, body?: JsonObject): JsonObject | undefined => {
    state.asked++;
    if (state.down) throw new Error('no route to the cluster');
    if (method === 'POST') {
      const resource = stringAt(objectAt(objectAt(body, 'spec'), 'resourceAttributes'), 'resource');
      return { status: { allowed: resource !== state.denied } };
    }
    if (method === 'DELETE') {
      if (!state.mayDelete) throw new ClusterError(403, 'forbidden');
      state.deleted.push(path);
      return undefined;
    }
    if (path.startsWith('/apis/apiregistration.k8s.io')) return apiService;
    if (path === ADMISSION) return { resources: state.served ? [{ name: 'validatingadmissionpolicies' }] : [] };
    if (path.startsWith(`${ADMISSION}/validatingadmissionpolicies`)) return { items: [policy] };
    return undefined;
  };
  const looks = new ReadinessChecker({
    ...{ clock, admissionFromCluster },
    client: {
      call: (method, path, body) => {
        const found = answer(method, path, body);
        return Promise.resolve({ status: found === undefined ? 404 : 200, body: found ?? {} });
      },
      must: (method, path, body) => Promise.resolve().then(() => answer(method, path, body) as KubeObject | undefined),
      metadata: () => Promise.reject(new Error('nobody needs it')),
    },
    servers: {
      everywhere: async (_, holds) => {
        const resources = state.listed ? [{ resource: 'widgets' }] : [];
        const groups = [{ metadata: { name: GROUP }, versions: [{ version: 'v1', resources }] }];
        const nobody = (): Promise<never> => Promise.reject(new Error('nobody is asked'));
        const plain = () =>
          state.refusing
            ? Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:6443'))
            : Promise.resolve({ status: 200, text: 'ok', headers: {} });
        await holds({ call: nobody, plain, discovery: () => Promise.resolve(groups) });
      },
    },
  });
  const said = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await looks.of(GROUP, [crd])).map(([type, holds, reason, message]) => [
        type,
        `${String(holds)} ${reason}: ${message}`,
      ]),
    );
  return { clock, state, said };
}

test('the group is switchable, and the policy of the cluster is enforced', async () => {
  const { said } = setUp();
  expect(await said()).toEqual({
    Switchable: 'true NothingInTheWay: nothing prevents switching the group to Annex',
    AdmissionEnforced:
      'true AllEnforced: Annex enforces everything that matches the group: ValidatingAdmissionPolicy/colours',
    Discovered: 'true AllListed: the discovery of every kube-apiserver lists the resources of the group',
  });
});

test('the APIServices of types that a kube-apiserver does not list are deleted, again and again, ever more rarely', async () => {
  const { clock, said, state } = setUp();
  state.listed = false;
  const deletedAt: number[] = [];
  for (let look = 1; look <= 9; look++) {
    const before = state.deleted.length;
    expect((await said())['Discovered']).toBe(
      `false NotListed: its discovery lacks widgets of ${GROUP}/v1; Annex deletes the APIServices v1.${GROUP}, which kube-apiserver makes anew, until it lists them`,
    );
    if (state.deleted.length > before) deletedAt.push(look);
    clock.advance(5_000);
  }
  expect(deletedAt).toEqual([2, 4, 8]);
  expect(new Set(state.deleted)).toEqual(new Set([`/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`]));
  state.listed = true;
  expect((await said())['Discovered']).toMatch(/^true/);
  clock.advance(60_000);
  state.listed = false;
  await said();
  expect(state.deleted).toHaveLength(3);
});

test('if Annex may not delete APIServices, the condition says how', async () => {
  const { clock, said, state } = setUp();
  state.listed = false;
  state.mayDelete = false;
  await said();
  clock.advance(5_000);
  expect((await said())['Discovered']).toBe(
    `false NotListed: its discovery lacks widgets of ${GROUP}/v1; kubectl delete apiservice v1.${GROUP} makes it look again: Annex cannot: forbidden`,
  );
});

test('a missing permission is checked again within seconds, a passed check once a minute', async () => {
  const { clock, state, said } = setUp();
  state.denied = 'flowschemas';
  expect((await said())['Switchable']).toBe(
    'false RightsMissing: Annex may not get, create, patch, delete flowschemas.flowcontrol.apiserver.k8s.io; annex adopt example.com --dry-run prints the ClusterRole',
  );
  state.denied = '';
  expect((await said())['Switchable']).toMatch(/^false/);
  clock.advance(5_000);
  expect((await said())['Switchable']).toMatch(/^true/);
  const { asked } = state;
  clock.advance(59_000);
  await said();
  expect(state.asked).toBe(asked);
  clock.advance(1_000);
  await said();
  expect(state.asked).toBeGreaterThan(asked);
});

test('reports a cluster without policies, and one that cannot be reached', async () => {
  const { clock, state, said } = setUp();
  state.served = false;
  expect((await said())['Switchable']).toMatch(
    /^false Blocked: the cluster does not serve ValidatingAdmissionPolicy v1/,
  );
  state.down = true;
  clock.advance(5_000);
  expect((await said())['Switchable']).toBe('false ClusterError: no route to the cluster');
});

test('without admission from the cluster, its policies are not enforced', async () => {
  const { said } = setUp(false);
  expect((await said())['AdmissionEnforced']).toBe(
    'false NotEnforced: when Annex serves the group, these are not enforced: ValidatingAdmissionPolicy/colours (--admission-from-cluster=false)',
  );
});

test('a kube-apiserver in the endpoints that refuses connections is named, and asked again soon', async () => {
  const { clock, state, said } = setUp();
  state.refusing = true;
  expect((await said())['Switchable']).toBe('false KubeAPIServerUnreachable: connect ECONNREFUSED 10.0.0.1:6443');
  state.refusing = false;
  clock.advance(5_000);
  expect((await said())['Switchable']).toMatch(/^true/);
});
