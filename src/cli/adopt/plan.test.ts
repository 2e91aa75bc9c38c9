import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { clusterOf } from '../../../test/fakes/cli/cluster.js';
import { makePlan } from './plan.js';
import { planText } from './report.js';

const GROUP = 'example.com';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1';
const SERVED = `/apis/${GROUP}/v1/widgets`;

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

const READY: Record<string, JsonObject> = {
  '/apis/kubeannex.io/v1alpha1': {},
  [CONFIGURATIONS]: {
    resources: [{ name: 'validatingadmissionpolicies' }, { name: 'validatingwebhookconfigurations' }],
  },
  [CRDS]: { items: [crd(GROUP, 'widgets', 'None'), crd('other.com', 'things', 'None')] },
  [SERVED]: { items: [widget('a'), widget('b')] },
  '/apis': { groups: [] },
  '/api/v1': {
    resources: [
      { name: 'configmaps', verbs: ['list'] },
      { name: 'secrets', verbs: ['list'] },
    ],
  },
  '/api/v1/configmaps': {
    items: [
      { metadata: { name: 'c', ownerReferences: [{ apiVersion: `${GROUP}/v1`, kind: 'Widget' }] } },
      { metadata: { name: 'd', ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment' }] } },
    ],
  },
};

const plan = (answers: Record<string, JsonObject>, may: (attributes: JsonObject) => boolean = () => true) =>
  makePlan(clusterOf({ ...READY, ...answers }, may), { group: GROUP, account: 'annex-system/annex' });

describe('the plan of an adoption', () => {
  test('describes the definitions, objects and admission of the group', async () => {
    const made = await plan({
      [`${CONFIGURATIONS}/validatingwebhookconfigurations`]: {
        items: [
          {
            metadata: { name: 'mine' },
            webhooks: [{ rules: [{ apiGroups: [GROUP], resources: ['widgets/status'] }] }],
          },
          { metadata: { name: 'others' }, webhooks: [{ rules: [{ apiGroups: ['apps'], resources: ['*'] }] }] },
          { metadata: { name: 'another' }, webhooks: [{ rules: [{ apiGroups: ['*'], resources: ['things'] }] }] },
        ],
      },
      [`${CONFIGURATIONS}/validatingadmissionpolicies`]: {
        items: [
          {
            metadata: { name: 'all' },
            spec: { matchConstraints: { resourceRules: [{ apiGroups: ['*'], resources: ['*/*'] }] } },
          },
        ],
      },
      '/api/v1/resourcequotas': {
        items: [
          { metadata: { namespace: 'a', name: 'q' }, spec: { hard: { 'count/widgets.example.com': '5' } } },
          { metadata: { namespace: 'b', name: 'q' }, spec: { hard: { pods: '5' } } },
        ],
      },
    });
    expect(made.types).toEqual([
      {
        resource: 'widgets',
        kind: 'Widget',
        scope: 'Namespaced',
        versions: ['v1beta1', 'v1'],
        storedAs: 'v1',
        conversion: 'None',
        objects: 2,
        bytes: JSON.stringify(widget('a')).length * 2,
        managers: ['kubectl', 'operator'],
        owners: ['Deployment'],
        withFinalizers: 2,
      },
    ]);
    expect(made.admission).toEqual([
      { name: 'ValidatingWebhookConfiguration/mine', enforced: true, note: '' },
      { name: 'ValidatingAdmissionPolicy/all', enforced: true, note: 'it has no binding and therefore no effect' },
    ]);
    expect(made.quotas).toEqual(['a/q']);
    expect(made.dependents).toEqual({ counts: { configmaps: 1 }, unread: ['secrets'] });
    expect([made.blocks, made.missingRights]).toEqual([[], []]);
    const text = planText(made, 'annex-system/annex');
    for (const line of [
      'ValidatingWebhookConfiguration/mine: Annex enforces it',
      '1 configmaps',
      'you may not list secrets: dependents there are unknown',
      'kubectl edit rd widgets.example.com',
    ])
      expect(text).toContain(line);
  });

  test('lists the admission that is no longer enforced, and why', async () => {
    const policy = (paramKind?: JsonObject): JsonObject => ({
      metadata: { name: paramKind === undefined ? 'plain' : 'param' },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: [GROUP], resources: ['widgets'] }] },
        ...(paramKind !== undefined && { paramKind }),
      },
    });
    const answers = {
      [CONFIGURATIONS]: {
        resources: [
          'validatingadmissionpolicies',
          'validatingadmissionpolicybindings',
          'mutatingwebhookconfigurations',
        ].map((name) => ({ name })),
      },
      [`${CONFIGURATIONS}/validatingadmissionpolicies`]: {
        items: [policy(), policy({ apiVersion: 'v1', kind: 'ConfigMap' })],
      },
      [`${CONFIGURATIONS}/validatingadmissionpolicybindings`]: {
        items: [{ spec: { policyName: 'plain' } }, { spec: { policyName: 'param' } }],
      },
      [`${CONFIGURATIONS}/mutatingwebhookconfigurations`]: {
        items: [{ metadata: { name: 'hook' }, webhooks: [{ rules: [{ apiGroups: ['*'], resources: ['*'] }] }] }],
      },
      '/api/v1': { resources: [{ name: 'configmaps', kind: 'ConfigMap', verbs: ['list'] }] },
    };
    const may = (spec: JsonObject): boolean =>
      !['configmaps', 'mutatingwebhookconfigurations'].includes(
        stringAt(objectAt(spec, 'resourceAttributes'), 'resource') ?? '',
      );
    expect((await plan(answers, may)).admission).toEqual([
      {
        ...{ name: 'MutatingWebhookConfiguration/hook', enforced: false },
        note: 'Annex may not list and watch mutatingwebhookconfigurations',
      },
      { name: 'ValidatingAdmissionPolicy/plain', enforced: true, note: '' },
      {
        ...{ name: 'ValidatingAdmissionPolicy/param', enforced: false },
        note: "Annex may not list and watch its params, configmaps (the chart's value admission.paramRules)",
      },
    ]);
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
      /the APIService v1\.example\.com refers to the Service x\/y/,
    ],
    [
      'a cluster without policies',
      { [CONFIGURATIONS]: { resources: [] } },
      /does not serve ValidatingAdmissionPolicy v1 .*: the group can be rehearsed, but not switched/,
    ],
    [
      'Annex itself',
      {
        '/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com': {
          metadata: { labels: { 'app.kubernetes.io/managed-by': 'annex' } },
          spec: { service: { namespace: 'x', name: 'y' } },
        },
      },
      /refers to Annex, which already serves the group/,
    ],
  ])('is blocked by %s', async (_, answers, why) => {
    const made = await plan(answers);
    expect(made.blocks).toEqual([expect.stringMatching(why)]);
    expect(planText(made, 'annex-system/annex')).toContain('Blocked:');
  });

  test('is blocked if Annex is not installed', async () => {
    const { '/apis/kubeannex.io/v1alpha1': _, ...rest } = READY;
    const made = await makePlan(
      clusterOf(rest, () => true),
      { group: GROUP, account: 'a/b' },
    );
    expect(made.blocks).toEqual([expect.stringContaining('Annex must be installed')]);
  });

  test('contains the missing ClusterRole, ready to apply', async () => {
    const text = planText(await plan({}, () => false), 'annex-system/annex');
    expect(text).toMatch(/^RESOURCE +SCOPE +VERSIONS +CONVERSION +OBJECTS +SIZE +FINALIZERS +MANAGERS +OWNERS$/m);
    expect(text).toMatch(/^widgets +Namespaced +v1beta1,v1\* +None +2 +\d+ B +2 +kubectl,operator +Deployment$/m);
    expect(text).toMatch(/kind: ClusterRole\n/);
    expect(text).toContain('name: annex-adoption:example.com');
    for (const rule of [
      /- example\.com\n/,
      /- customresourcedefinitions\n/,
      /- \/metrics\n/,
      /- annex-adoption\.example\.com\n/,
    ])
      expect(text).toMatch(rule);
    expect(text).toMatch(/subjects:\n *- kind: ServiceAccount\n *name: annex\n *namespace: annex-system/);
  });

  test('explains the effect of a conversion webhook', async () => {
    const made = await plan({ [CRDS]: { items: [crd(GROUP, 'widgets', 'Webhook')] } });
    expect(made.changes).toEqual(
      expect.arrayContaining([expect.stringContaining('Annex calls the conversion webhook of widgets')]),
    );
  });
});
