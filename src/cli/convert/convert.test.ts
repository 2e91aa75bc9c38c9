import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { readPieces } from './documents/documents.js';
import { type ConvertOptions, runConvert } from './run.js';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly objects: readonly JsonObject[];
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'convert-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function run(input: string, options: Partial<ConvertOptions> = {}): Run {
  let out = '';
  let err = '';
  const code = runConvert(
    { paths: ['-'], ...options },
    {
      progress: { step: () => undefined },
      readStandardInput: () => Buffer.from(input),
      out: (text) => {
        out += text;
      },
      err: (line) => {
        err += `${line}\n`;
      },
    },
  );
  const objects = readPieces(Buffer.from(out)).flatMap(({ value }) => (value === null ? [] : [value as JsonObject]));
  return { code, out, err, objects };
}

function one(input: object, options: Partial<ConvertOptions> = {}): JsonObject {
  const { code, objects, err } = run(JSON.stringify(input), options);
  expect([code, objects.length, err.includes('error:')]).toEqual([0, 1, false]);
  return objects[0] as JsonObject;
}

/** Returns the error for an object that is refused. */
function refusal(input: object, options: Partial<ConvertOptions> = {}): string {
  const { code, out, err } = run(JSON.stringify(input), options);
  expect([code, out]).toEqual([1, '']);
  return err;
}

const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'i' }] } };
const selector = { matchLabels: { app: 'web' } };
const workload = (apiVersion: string, kind: string, spec: object = {}): JsonObject =>
  one({ apiVersion, kind, metadata: { name: 'web' }, spec: { template, ...spec } });
const specOf = (object: JsonObject): JsonObject => object['spec'] as JsonObject;

describe('apps', () => {
  test('a Deployment of extensions/v1beta1 keeps its defaults, labels and selector', () => {
    expect(workload('extensions/v1beta1', 'Deployment')).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: {
        template,
        selector,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } },
        revisionHistoryLimit: 2147483647,
        progressDeadlineSeconds: 2147483647,
      },
    });
  });

  test('explicit fields stay', () => {
    const spec = {
      selector: { matchLabels: { app: 'web', x: 'y' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '50%', maxUnavailable: 0 } },
      revisionHistoryLimit: 0,
      progressDeadlineSeconds: 9,
    };
    expect(specOf(workload('extensions/v1beta1', 'Deployment', spec))).toEqual({ template, ...spec });
    const recreate = specOf(workload('extensions/v1beta1', 'Deployment', { strategy: { type: 'Recreate' } }));
    expect(recreate['strategy']).toEqual({ type: 'Recreate' });
  });

  test.each([
    ['apps/v1beta1', 'Deployment', { selector, revisionHistoryLimit: 2 }],
    ['apps/v1beta1', 'StatefulSet', { selector, updateStrategy: { type: 'OnDelete' } }],
    ['apps/v1beta1', 'ReplicaSet', { selector }],
    ['extensions/v1beta1', 'DaemonSet', { selector, updateStrategy: { type: 'OnDelete' } }],
    ['extensions/v1beta1', 'ReplicaSet', { selector }],
  ])('%s %s', (apiVersion, kind, added) => {
    const made = workload(apiVersion, kind);
    expect(made).toMatchObject({ apiVersion: 'apps/v1', metadata: { labels: { app: 'web' } } });
    expect(specOf(made)).toEqual({ template, ...added });
  });

  test.each(['Deployment', 'DaemonSet', 'ReplicaSet', 'StatefulSet'])('apps/v1beta2 %s', (kind) => {
    expect(workload('apps/v1beta2', kind, { selector })).toEqual({
      apiVersion: 'apps/v1',
      kind,
      metadata: { name: 'web' },
      spec: { template, selector },
    });
    const bare = { apiVersion: 'apps/v1beta2', kind, metadata: { name: 'web' }, spec: { template } };
    expect(refusal(bare)).toContain('spec.selector is missing');
  });

  test('removed fields become annotations that controllers read', () => {
    expect(workload('apps/v1beta1', 'Deployment', { rollbackTo: { revision: 3 } })).toMatchObject({
      metadata: { annotations: { 'deprecated.deployment.rollback.to': '3' } },
    });
    const daemons = workload('extensions/v1beta1', 'DaemonSet', { templateGeneration: 4 });
    expect(daemons).toMatchObject({
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '4' } },
    });
    expect(specOf(daemons)).not.toHaveProperty('templateGeneration');
  });
});

describe('Ingress', () => {
  const ingress = (spec: object): object => ({
    apiVersion: 'extensions/v1beta1',
    kind: 'Ingress',
    metadata: { name: 'web' },
    spec,
  });
  const withPath = (path: object): object => ingress({ rules: [{ host: 'h', http: { paths: [path] } }] });

  test('converts backends and path types', () => {
    const paths = [
      { path: '/a', backend: { serviceName: 'a', servicePort: 80 } },
      { path: '/b', pathType: 'Exact', backend: { serviceName: 'b', servicePort: 'http' } },
    ];
    const made = one(
      ingress({ backend: { serviceName: 'c', servicePort: 1 }, rules: [{ http: { paths } }, { host: 'h' }] }),
    );
    expect(made).toMatchObject({ apiVersion: 'networking.k8s.io/v1' });
    expect(made['spec']).toEqual({
      defaultBackend: { service: { name: 'c', port: { number: 1 } } },
      rules: [
        {
          http: {
            paths: [
              {
                path: '/a',
                pathType: 'ImplementationSpecific',
                backend: { service: { name: 'a', port: { number: 80 } } },
              },
              { path: '/b', pathType: 'Exact', backend: { service: { name: 'b', port: { name: 'http' } } } },
            ],
          },
        },
        { host: 'h' },
      ],
    });
  });

  test('a quoted port number becomes a number, with a warning', () => {
    const input = withPath({ backend: { serviceName: 'a', servicePort: '80' } });
    const { err, objects } = run(JSON.stringify(input));
    expect(err).toContain('warning: standard input:1: extensions/v1beta1 Ingress web: ');
    expect(JSON.stringify(objects)).toContain('"port":{"number":80}');
  });

  test.each([
    [{}, 'backend is missing'],
    [{ backend: { serviceName: 'a' } }, 'backend.servicePort is missing'],
    [{ backend: { servicePort: 1 } }, 'backend.serviceName is missing'],
    [{ backend: {} }, 'neither a serviceName nor a resource'],
    [{ backend: 'a' }, 'backend must be an object'],
    [
      { backend: { serviceName: 'a', servicePort: 1, weight: 3 } },
      'backend.weight has no equivalent in networking.k8s.io/v1',
    ],
  ])('refused: %j', (path, reason) => {
    expect(refusal(withPath(path))).toContain(reason);
  });

  test('drops a field if loss is allowed', () => {
    const input = withPath({ backend: { serviceName: 'a', servicePort: 1, weight: 3 } });
    const { code, err, out } = run(JSON.stringify(input), { allowLoss: true });
    expect([code, err.includes('warning: '), out.includes('weight')]).toEqual([0, true, false]);
  });
});

describe('HorizontalPodAutoscaler of v2beta1', () => {
  const convertMetric = (metric: object): JsonValue => {
    const spec = { maxReplicas: 3, metrics: [metric] };
    const made = one({
      apiVersion: 'autoscaling/v2beta1',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'a' },
      spec,
    });
    expect(made['apiVersion']).toBe('autoscaling/v2');
    return (specOf(made)['metrics'] as JsonValue[])[0] ?? null;
  };
  const target = { kind: 'Service', name: 's' };

  test.each([
    [
      { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 50 } },
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
    ],
    [
      { type: 'Resource', resource: { name: 'memory', targetAverageValue: '1Gi' } },
      { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
    ],
    [
      { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', targetAverageUtilization: 5 } },
      {
        type: 'ContainerResource',
        containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization', averageUtilization: 5 } },
      },
    ],
    [
      { type: 'Pods', pods: { metricName: 'm', targetAverageValue: 1, selector } },
      { type: 'Pods', pods: { metric: { name: 'm', selector }, target: { type: 'AverageValue', averageValue: 1 } } },
    ],
    [
      { type: 'Object', object: { target, metricName: 'm', targetValue: 0 } },
      {
        type: 'Object',
        object: { describedObject: target, metric: { name: 'm' }, target: { type: 'Value', value: 0 } },
      },
    ],
    [
      { type: 'Object', object: { target, metricName: 'm', targetValue: 0, averageValue: 2 } },
      {
        type: 'Object',
        object: { describedObject: target, metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: 2 } },
      },
    ],
    [
      { type: 'External', external: { metricName: 'm', metricSelector: selector, targetValue: '7' } },
      { type: 'External', external: { metric: { name: 'm', selector }, target: { type: 'Value', value: '7' } } },
    ],
  ])('%j', (old, made) => {
    expect(convertMetric(old)).toEqual(made);
  });

  test.each([
    [{ type: 'Resource', resource: { name: 'cpu' } }, 'resource has no target'],
    [
      { type: 'Resource', resource: { name: 'cpu', targetAverageValue: 1, targetAverageUtilization: 2 } },
      'several targets',
    ],
    [{ type: 'Pods' }, 'metrics[0].pods is missing'],
    [{ type: 'Else' }, 'type must be one of'],
    [{ type: 'Pods', pods: { metricName: 'm', targetAverageValue: 1, more: 1 } }, 'pods.more has no equivalent'],
  ])('refused: %j', (metric, reason) => {
    const spec = { maxReplicas: 3, metrics: [metric] };
    const input = { apiVersion: 'autoscaling/v2beta1', kind: 'HorizontalPodAutoscaler', metadata: { name: 'a' }, spec };
    expect(refusal(input)).toContain(reason);
  });
});

describe('webhook configurations', () => {
  const config = (...webhooks: object[]): object => ({
    apiVersion: 'admissionregistration.k8s.io/v1beta1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'c' },
    webhooks,
  });

  test('the old defaults are made explicit', () => {
    expect(one(config({ name: 'a.b.c', sideEffects: 'None' }))).toMatchObject({
      apiVersion: 'admissionregistration.k8s.io/v1',
      webhooks: [
        {
          name: 'a.b.c',
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          matchPolicy: 'Exact',
          timeoutSeconds: 30,
          admissionReviewVersions: ['v1beta1'],
        },
      ],
    });
    const given = {
      name: 'a.b.c',
      sideEffects: 'NoneOnDryRun',
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      timeoutSeconds: 1,
      admissionReviewVersions: ['v1'],
    };
    expect(one(config(given))['webhooks']).toEqual([given]);
  });

  test.each([
    [[{ name: 'a' }], 'webhooks[0].sideEffects is missing'],
    [[{ name: 'a', sideEffects: 'Unknown' }], 'webhooks[0].sideEffects is Unknown'],
    [[{ name: 'a', sideEffects: 'Some' }], 'NoneOnDryRun'],
    [
      [
        { name: 'a', sideEffects: 'None' },
        { name: 'a', sideEffects: 'None' },
      ],
      'two webhooks with the same name (a)',
    ],
  ])('refused: %j', (webhooks, reason) => {
    expect(refusal(config(...webhooks))).toContain(reason);
    expect(refusal(config(...webhooks), { allowLoss: true })).toContain(reason);
  });
});

describe('policy', () => {
  const budget = (spec: object): string =>
    JSON.stringify({ apiVersion: 'policy/v1beta1', kind: 'PodDisruptionBudget', metadata: { name: 'b' }, spec });

  test.each([[{}], [{ matchLabels: {} }], [{ matchLabels: null, matchExpressions: [] }]])(
    'an empty selector still matches nothing: %j',
    (empty) => {
      const { code, err, objects } = run(budget({ minAvailable: 1, selector: empty }));
      expect([code, objects[0]?.['apiVersion'], objects[0]?.['spec']]).toEqual([0, 'policy/v1', { minAvailable: 1 }]);
      expect(err).toContain('warning: standard input:1: policy/v1beta1 PodDisruptionBudget b: spec.selector is empty');
    },
  );

  test('other selectors stay', () => {
    const { err, objects } = run(budget({ selector }));
    expect([err, objects[0]?.['spec']]).toEqual(['', { selector }]);
  });

  test.each(['policy/v1beta1', 'extensions/v1beta1'])('PodSecurityPolicy of %s is refused', (apiVersion) => {
    const input = { apiVersion, kind: 'PodSecurityPolicy', metadata: { name: 'p' } };
    expect(refusal(input)).toContain('Pod Security admission');
  });
});

describe('flow control', () => {
  const KEEP = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';
  const shares = (version: string, limited: object, annotations?: object): JsonValue | undefined => {
    const made = one({
      apiVersion: `flowcontrol.apiserver.k8s.io/${version}`,
      kind: 'PriorityLevelConfiguration',
      metadata: { name: 'l', ...(annotations !== undefined && { annotations }) },
      spec: { type: 'Limited', limited },
    });
    expect(made['apiVersion']).toBe('flowcontrol.apiserver.k8s.io/v1');
    expect(JSON.stringify(made)).not.toContain(KEEP);
    const { limited: converted } = specOf(made) as { limited: JsonObject };
    expect(converted).not.toHaveProperty('assuredConcurrencyShares');
    return converted['nominalConcurrencyShares'];
  };

  test.each([
    ['v1beta1', { assuredConcurrencyShares: 5 }, undefined, 5],
    ['v1beta2', { assuredConcurrencyShares: 5 }, undefined, 5],
    ['v1beta2', { assuredConcurrencyShares: 0 }, undefined, 30],
    ['v1beta2', {}, undefined, 30],
    ['v1beta3', { nominalConcurrencyShares: 7 }, { other: 'x' }, 7],
    ['v1beta3', { nominalConcurrencyShares: 0 }, undefined, 30],
    ['v1beta3', { nominalConcurrencyShares: 0 }, { [KEEP]: '' }, 0],
    ['v1beta3', {}, { [KEEP]: '' }, 0],
  ])('%s %j %j', (version, limited, annotations, expected) => {
    expect(shares(version, limited, annotations)).toBe(expected);
  });
});

test('EndpointSlice: node and zone become fields', () => {
  const topology = { 'kubernetes.io/hostname': 'n', 'topology.kubernetes.io/zone': 'z' };
  const slice = (...endpoints: object[]): string =>
    JSON.stringify({
      apiVersion: 'discovery.k8s.io/v1beta1',
      kind: 'EndpointSlice',
      metadata: { name: 's' },
      endpoints,
    });
  const plain = run(slice({ addresses: ['a'], topology }, { addresses: ['b'] }));
  expect(plain).toMatchObject({ code: 0, err: '' });
  expect(plain.objects[0]).toMatchObject({
    apiVersion: 'discovery.k8s.io/v1',
    endpoints: [{ addresses: ['a'], nodeName: 'n', zone: 'z' }, { addresses: ['b'] }],
  });
  expect(plain.out).not.toContain('opology');
  const more = run(slice({ nodeName: 'other', topology: { ...topology, region: 'r' } }));
  expect(more.err).toContain('kubernetes.io/hostname, region became deprecatedTopology');
  expect(more.objects[0]?.['endpoints']).toEqual([
    { nodeName: 'other', zone: 'z', deprecatedTopology: { 'kubernetes.io/hostname': 'n', region: 'r' } },
  ]);
});

describe('events', () => {
  const base = { reason: 'R', type: 'Normal', action: 'A', regarding: { kind: 'Pod', name: 'p' }, note: 'n' };
  const event = (more: object, apiVersion = 'events.k8s.io/v1beta1'): object => ({
    apiVersion,
    kind: 'Event',
    metadata: { name: 'e' },
    ...more,
  });
  const now = { eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'c', reportingInstance: 'i' };

  test('converts an event of a new client', () => {
    const series = { count: 2, lastObservedTime: now.eventTime, state: 'Ongoing' };
    expect(one(event({ ...base, ...now, series }))).toEqual({
      ...event({ ...base, ...now }, 'events.k8s.io/v1'),
      series: { count: 2, lastObservedTime: now.eventTime },
    });
  });

  test('converts an event of an old client', () => {
    const old = {
      deprecatedSource: { component: 'c', host: 'i' },
      deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
      deprecatedLastTimestamp: '2026-01-01T00:01:00Z',
      deprecatedCount: 3,
    };
    const series = { count: 3, lastObservedTime: '2026-01-01T00:01:00.000000Z' };
    expect(one(event({ ...base, ...old }))).toEqual({ ...event({ ...base, ...now }, 'events.k8s.io/v1'), series });
  });

  test('converts core/v1 events only on request', () => {
    const { regarding, note, ...rest } = base;
    const core = { ...rest, involvedObject: regarding, message: note, source: { component: 'c', host: 'i' } };
    const input = event({ ...core, firstTimestamp: '2026-01-01T00:00:00Z', count: 1 }, 'v1');
    expect(one(input)).toEqual(input);
    expect(one(input, { outputVersion: 'events.k8s.io/v1' })).toEqual(event({ ...base, ...now }, 'events.k8s.io/v1'));
  });

  test.each([
    [{ ...base, ...now, action: '' }, 'action is missing'],
    [{ ...base, ...now, type: 'Odd' }, 'type is Odd'],
    [{ ...base, ...now, eventTime: null }, 'eventTime is missing'],
    [{ ...base, ...now, deprecatedSource: { component: 'other' } }, 'deprecatedSource.component'],
    [{ ...base, ...now, deprecatedLastTimestamp: '2026-01-01T00:09:00Z' }, 'deprecatedLastTimestamp has no equivalent'],
  ])('refused: %j', (fields, reason) => {
    expect(refusal(event(fields))).toContain(reason);
  });
});

describe('smaller changes', () => {
  test('access reviews rename group to groups', () => {
    const spec = { user: 'u', group: ['g'] };
    const input = { apiVersion: 'authorization.k8s.io/v1beta1', kind: 'SubjectAccessReview', spec };
    expect(one(input)).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'u', groups: ['g'] },
    });
  });

  test('a time zone in the schedule of a CronJob becomes a field', () => {
    const spec = { schedule: 'TZ=Asia/Tokyo 0 1 * * *' };
    const input = { apiVersion: 'batch/v1beta1', kind: 'CronJob', metadata: { name: 'c' }, spec };
    expect(one(input)['spec']).toEqual({ schedule: '0 1 * * *', timeZone: 'Asia/Tokyo' });
  });

  test.each([
    ['apiregistration.k8s.io/v1beta1', 'APIService'],
    ['authentication.k8s.io/v1beta1', 'TokenReview'],
    ['authorization.k8s.io/v1beta1', 'SelfSubjectRulesReview'],
    ['autoscaling/v2beta2', 'HorizontalPodAutoscaler'],
    ['coordination.k8s.io/v1beta1', 'Lease'],
    ['flowcontrol.apiserver.k8s.io/v1beta3', 'FlowSchema'],
    ['networking.k8s.io/v1beta1', 'IngressClass'],
    ['node.k8s.io/v1beta1', 'RuntimeClass'],
    ['rbac.authorization.k8s.io/v1beta1', 'ClusterRoleBinding'],
    ['scheduling.k8s.io/v1beta1', 'PriorityClass'],
    ['storage.k8s.io/v1beta1', 'CSIStorageCapacity'],
    ['storage.k8s.io/v1beta1', 'StorageClass'],
  ])('%s %s changes only its version', (apiVersion, kind) => {
    const input = { apiVersion, kind, metadata: { name: 'x' }, spec: { a: [1, { b: null }] } };
    const to = `${apiVersion.split('/')[0] ?? ''}/${kind === 'HorizontalPodAutoscaler' ? 'v2' : 'v1'}`;
    expect(one(input)).toEqual({ ...input, apiVersion: to });
  });
});

describe('CertificateSigningRequest', () => {
  const request = (spec: object, status?: object): object => ({
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'r' },
    spec,
    ...(status !== undefined && { status }),
  });
  const manifests = readFileSync(join(__dirname, '../../../test/fixtures/manifests/certificates.yaml'));
  const ofNode = (readPieces(manifests)[0]?.value as { spec: { request: string } }).spec.request;

  test('the defaults of v1beta1 for usages and signer are made explicit', () => {
    const kubelet = ['digital signature', 'client auth'];
    expect(specOf(one(request({ request: ofNode, usages: kubelet })))).toEqual({
      request: ofNode,
      usages: kubelet,
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    });
    expect(specOf(one(request({ request: ofNode, signerName: 'a.b/c' })))).toMatchObject({
      usages: ['digital signature', 'key encipherment'],
      signerName: 'a.b/c',
    });
    const conditions = [{ type: 'Approved' }];
    expect(one(request({ request: 'x', signerName: 'a.b/c' }, { conditions }))['status']).toEqual({
      conditions: [{ type: 'Approved', status: 'True' }],
    });
  });

  test.each([
    [{ request: ofNode }, undefined, 'legacy-unknown'],
    [{ request: 'bm9uZQ==' }, undefined, 'legacy-unknown'],
    [{ signerName: 'kubernetes.io/legacy-unknown' }, undefined, 'legacy-unknown'],
    [{ signerName: 'a.b/c', usages: ['any', 'any'] }, undefined, 'duplicate usages'],
    [{ signerName: 'a.b/c', usages: ['odd'] }, undefined, 'does not support "odd"'],
    [{ signerName: 'a.b/c' }, { conditions: [{ type: 'A' }, { type: 'A' }] }, 'two conditions'],
    [{ signerName: 'a.b/c' }, { certificate: 'bm9uZQ==' }, 'PEM'],
  ])('refused: %j %j', (spec, status, reason) => {
    expect(refusal(request(spec, status))).toContain(reason);
  });
});

describe('old alpha versions', () => {
  const manifest = (apiVersion: string, kind: string): string =>
    JSON.stringify({ apiVersion, kind, metadata: { name: 'a' } });
  test.each([
    ['rbac.authorization.k8s.io/v1alpha1', 'RoleBinding', '1.23', 'use rbac.authorization.k8s.io/v1'],
    ['scheduling.k8s.io/v1alpha1', 'PriorityClass', '1.23', 'use scheduling.k8s.io/v1'],
    ['node.k8s.io/v1alpha1', 'RuntimeClass', '1.24', 'use node.k8s.io/v1'],
    ['batch/v2alpha1', 'CronJob', '1.21', 'use batch/v1'],
    ['networking.k8s.io/v1alpha1', 'ServiceCIDR', '1.31', 'use networking.k8s.io/v1'],
    ['settings.k8s.io/v1alpha1', 'PodPreset', '1.20', 'nothing replaces it'],
    ['auditregistration.k8s.io/v1alpha1', 'AuditSink', '1.19', 'nothing replaces it'],
  ])('%s %s is reported', (apiVersion, kind, release, advice) => {
    const { code, out } = run(manifest(apiVersion, kind), { check: true, targetVersion: '1.36' });
    expect([code, out]).toEqual([1, expect.stringContaining(`removed in ${release}`)]);
    expect(out).toContain(advice);
  });

  test('types with unchanged fields are converted, others refused', () => {
    expect(run(manifest('scheduling.k8s.io/v1alpha1', 'PriorityClass')).objects).toMatchObject([
      { apiVersion: 'scheduling.k8s.io/v1' },
    ]);
    const refused = run(manifest('settings.k8s.io/v1alpha1', 'PodPreset'));
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('nothing replaces it')]);
  });
});
