import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { makePlan, type Cluster } from './plan.js';
import { planText } from './report.js';

const GROUP = 'example.com';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=200';
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1';
const WIDGETS = `/apis/${GROUP}/v1/widgets?limit=100`;

const crd = (group: string, plural: string, strategy: string): JsonObject => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind: 'Widget' },
    conversion: { strategy },
    versions: [
      { name: 'v1beta1', served: true, storage: false },
      { name: 'v1', served: true, storage: true },
    ],
  },
});

const widget = (name: string): JsonObject => ({
  metadata: {
    name,
    managedFields: [{ manager: 'kubectl' }, { manager: 'operator' }],
    ownerReferences: [{ kind: 'Deployment' }],
    finalizers: ['x.com/y'],
  },
});

/** A cluster that answers these paths, and says of each right whether it is given. */
function clusterOf(answers: Record<string, JsonObject>, mayRead: boolean): Cluster {
  const answer = (method: string, path: string): JsonObject | undefined => {
    if (method === 'POST') return { status: { allowed: mayRead } };
    return answers[path];
  };
  return {
    call: (method, path) => {
      const body = answer(method, path);
      return Promise.resolve({ status: body === undefined ? 404 : 200, body: body ?? {} });
    },
    must: (method, path) => Promise.resolve(answer(method, path) as KubeObject | undefined),
  };
}

const READY: Record<string, JsonObject> = {
  '/apis/kubeannex.io/v1alpha1': {},
  [CONFIGURATIONS]: { resources: [{ name: 'validatingadmissionpolicies' }] },
  [CRDS]: { items: [crd(GROUP, 'widgets', 'None'), crd('other.com', 'things', 'None')] },
  [WIDGETS]: { items: [widget('a'), widget('b')], metadata: { remainingItemCount: 998 } },
};

const plan = (answers: Record<string, JsonObject>, mayRead = true) =>
  makePlan(clusterOf({ ...READY, ...answers }, mayRead), { group: GROUP, account: 'annex-system/annex' });

describe('the plan of an adoption', () => {
  test('tells what there is', async () => {
    const { types, blocks, missingRights, admission, quotas } = await plan({
      [`${CONFIGURATIONS}/validatingwebhookconfigurations?limit=200`]: {
        items: [
          {
            metadata: { name: 'mine' },
            webhooks: [{ rules: [{ apiGroups: [GROUP], resources: ['widgets/status'] }] }],
          },
          { metadata: { name: 'others' }, webhooks: [{ rules: [{ apiGroups: ['apps'], resources: ['*'] }] }] },
          { metadata: { name: 'another' }, webhooks: [{ rules: [{ apiGroups: ['*'], resources: ['things'] }] }] },
        ],
      },
      [`${CONFIGURATIONS}/validatingadmissionpolicies?limit=200`]: {
        items: [
          {
            metadata: { name: 'all' },
            spec: { matchConstraints: { resourceRules: [{ apiGroups: ['*'], resources: ['*/*'] }] } },
          },
        ],
      },
      '/api/v1/resourcequotas?limit=200': {
        items: [
          { metadata: { namespace: 'a', name: 'q' }, spec: { hard: { 'count/widgets.example.com': '5' } } },
          { metadata: { namespace: 'b', name: 'q' }, spec: { hard: { pods: '5' } } },
        ],
      },
    });
    expect(types).toEqual([
      {
        resource: 'widgets',
        kind: 'Widget',
        scope: 'Namespaced',
        versions: ['v1beta1', 'v1'],
        storedAs: 'v1',
        conversion: 'None',
        objects: 1000,
        bytes: JSON.stringify(widget('a')).length * 1000,
        managers: ['kubectl', 'operator'],
        owners: ['Deployment'],
        withFinalizers: true,
      },
    ]);
    expect(admission).toEqual(['ValidatingWebhookConfiguration/mine', 'ValidatingAdmissionPolicy/all']);
    expect(quotas).toEqual(['a/q']);
    expect([blocks, missingRights]).toEqual([[], []]);
  });

  test.each([
    ['no definitions', { [CRDS]: { items: [] } }, /has no CustomResourceDefinition of the group example\.com/],
    [
      'another server',
      {
        '/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com': {
          spec: { service: { namespace: 'x', name: 'y' } },
        },
      },
      /the APIService v1\.example\.com leads to the Service x\/y/,
    ],
  ])('is blocked by %s', async (_, answers, why) => {
    const made = await plan(answers);
    expect(made.blocks).toEqual([expect.stringMatching(why)]);
    expect(planText(made, 'annex-system/annex')).toContain('Blocked:');
  });

  test('is blocked where Annex is not there', async () => {
    const { '/apis/kubeannex.io/v1alpha1': _, ...rest } = READY;
    const made = await makePlan(clusterOf(rest, true), { group: GROUP, account: 'a/b' });
    expect(made.blocks).toEqual([expect.stringContaining('Annex has to be installed')]);
  });

  test('has the role that is missing, ready to be applied', async () => {
    const text = planText(await plan({}, false), 'annex-system/annex');
    expect(text).toMatch(/^RESOURCE +SCOPE +VERSIONS +CONVERSION +OBJECTS +SIZE +MANAGERS +OWNERS$/m);
    expect(text).toMatch(/^widgets +Namespaced +v1beta1,v1\* +None +1000 +\d+\.\d KiB +kubectl,operator +Deployment$/m);
    expect(text).toMatch(/kind: ClusterRole\n/);
    expect(text).toContain('name: annex-adoption:example.com');
    expect(text).toMatch(/subjects:\n *- kind: ServiceAccount\n *name: annex\n *namespace: annex-system/);
  });

  test('says what a conversion webhook means', async () => {
    const made = await plan({ [CRDS]: { items: [crd(GROUP, 'widgets', 'Webhook')] } });
    expect(made.notes).toEqual(expect.arrayContaining([expect.stringContaining('has a conversion webhook')]));
  });
});
