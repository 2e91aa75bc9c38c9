import { decodeDetailed } from '../../../apimachinery/json/decode.js';
import type { JsonObject, JsonValue } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { noteEmpty } from '../../../apimachinery/scheme/empty-members.js';
import { requireSchema } from '../../../apimachinery/scheme/builtin-schema.js';
import type { RequestContext } from '../../../request/context.js';
import type { RequestInfo } from '../../../request/request-info.js';
import type { ResourceType } from '../../rest/interfaces.js';
import { fromCoreEvent, toCoreEvent } from './events/conversion.js';
import { offloadableKinds } from '../../kinds.js';
import type { EscalationDependencies } from '../rbac/escalation.js';
import { NEVER_ABORTED } from '../../../util/never-aborted.js';

const UNSAID = { orphanDependents: undefined, propagationPolicy: undefined };

const types = offloadableKinds({} as EscalationDependencies).filter(({ group }) =>
  ['', 'events.k8s.io', 'coordination.k8s.io'].includes(group),
);
const NOW = Date.UTC(2026, 0, 1);

function typeOf(kind: string, group = ''): ResourceType {
  const type = types.find((one) => one.kind === kind && one.group === group);
  if (type === undefined) throw new Error(`no type ${kind}`);
  return type;
}

function contextOf(group: string): RequestContext {
  const info: RequestInfo = {
    isResourceRequest: true,
    path: '',
    verb: 'create',
    apiPrefix: 'apis',
    apiGroup: group,
    apiVersion: 'v1',
    namespace: 'n',
    resource: '',
    subresource: '',
    name: '',
    parts: [],
    fieldSelector: '',
    labelSelector: '',
  };
  return {
    info,
    user: { name: 'u', uid: '', groups: [], extra: {} },
    userAgent: '',
    auditId: '',
    signal: NEVER_ABORTED,
    cancellation: NEVER_ABORTED,
    receivedAt: NOW,
    warn: () => undefined,
    annotate: () => undefined,
    dryRun: false,
  };
}

interface Created {
  readonly object: KubeObject;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** Decodes, defaults, and validates an object as a create does before it is stored. */
function create(kind: string, given: JsonObject, group = ''): Created {
  const type = typeOf(kind, group);
  const metadata = { name: 'a', ...(type.namespaced ? { namespace: 'n' } : {}), ...(given['metadata'] as JsonObject) };
  const { object } = requireSchema(group, 'v1', kind).decode(
    decodeDetailed(JSON.stringify({ ...given, metadata }), { strict: true }),
    true,
  );
  type.applyDefaults?.(object);
  const context = contextOf(group);
  type.strategy.prepareForCreate?.(context, object);
  const errors = type.strategy.validateCreate(context, object).map((error) => error.toString());
  type.strategy.canonicalize?.(object);
  return { object, errors, warnings: type.strategy.warningsOnCreate?.(context, object) ?? [] };
}

function updateErrors(kind: string, object: JsonObject, old: JsonObject, subresource = '', group = ''): string[] {
  const type = typeOf(kind, group);
  const strategy = subresource === '' ? type.strategy : type.subresources[subresource];
  const meta = { name: 'a', ...(type.namespaced ? { namespace: 'n' } : {}), resourceVersion: '1' };
  const complete = (one: JsonObject): KubeObject => {
    const whole = { ...one, metadata: { ...meta, ...(one['metadata'] as JsonObject) } };
    type.applyDefaults?.(whole);
    return whole;
  };
  const [now, before] = [complete(object), complete(old)];
  const context = contextOf(group);
  strategy?.prepareForUpdate?.(context, now, before);
  return (strategy?.validateUpdate(context, now, before) ?? []).map((error) => error.toString());
}

describe('creation', () => {
  const refused: [string, string, JsonObject, string[]][] = [
    [
      'config map keys',
      'ConfigMap',
      { data: { '..': '' }, binaryData: { '..': 'aGk=' } },
      [
        'data[..]: Invalid value: "..": must not be \'..\'',
        'data[..]: Invalid value: "..": duplicate of key present in binaryData',
        'binaryData[..]: Invalid value: "..": must not be \'..\'',
      ],
    ],
    [
      'config map size',
      'ConfigMap',
      { data: { a: 'x'.repeat(1048577) } },
      ['[]: Too long: may not be more than 1048576 bytes'],
    ],
    [
      'legacy finalizers',
      'ConfigMap',
      { metadata: { finalizers: ['a'] } },
      [
        'metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      'docker config',
      'Secret',
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': 'x' } },
      [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character \'x\' looking for beginning of value',
      ],
    ],
    [
      'basic auth',
      'Secret',
      { type: 'kubernetes.io/basic-auth' },
      ['data[username]: Required value', 'data[password]: Required value'],
    ],
    [
      'service account token',
      'Secret',
      { type: 'kubernetes.io/service-account-token' },
      ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
    ],
    [
      'namespace finalizers',
      'Namespace',
      { spec: { finalizers: ['x'] } },
      ['spec.finalizers: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified'],
    ],
    [
      'event of another namespace',
      'Event',
      { involvedObject: { namespace: 'other' } },
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    [
      'endpoints',
      'Endpoints',
      { subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ port: 0 }] }] },
      [
        'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      ],
    ],
    ['service without ports', 'Service', {}, ['spec.ports: Required value']],
    [
      'service with clashing ports',
      'Service',
      {
        spec: {
          ports: [
            { port: 1, name: 'a' },
            { port: 1, name: 'b' },
          ],
        },
      },
      [
        'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}',
      ],
    ],
    ['pod without containers', 'Pod', {}, ['spec.containers: Required value']],
    [
      'pod with a container twice',
      'Pod',
      {
        spec: {
          containers: [
            { name: 'c', image: 'i' },
            { name: 'c', image: '' },
          ],
        },
      },
      ['spec.containers[1].image: Required value', 'spec.containers[1].name: Duplicate value: "c"'],
    ],
    [
      'volume',
      'PersistentVolume',
      {},
      [
        'spec.accessModes: Required value',
        'spec.capacity: Required value',
        'spec.capacity: Unsupported value: null: supported values: "storage"',
        'spec: Required value: must specify a volume type',
      ],
    ],
    [
      'claim',
      'PersistentVolumeClaim',
      {},
      [
        'spec.accessModes: Required value: at least 1 access mode is required',
        'spec.resources[storage]: Required value',
      ],
    ],
    [
      'taints',
      'Node',
      {
        spec: {
          taints: [
            { key: 'a', effect: 'NoSchedule' },
            { key: 'a', effect: 'NoSchedule' },
          ],
        },
      },
      [
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
      ],
    ],
  ];
  test.each(refused)('%s', (_, kind, given, expected) => {
    expect(create(kind, given).errors).toEqual(expected);
  });

  test('events.k8s.io/v1 requires complete events', () => {
    const { errors } = create(
      'Event',
      { eventTime: '2020-01-01T00:00:00.000000Z', type: 'x', deprecatedCount: 1, regarding: { namespace: 'n' } },
      'events.k8s.io',
    );
    expect(errors).toEqual(
      expect.arrayContaining([
        'reportingController: Required value',
        'reportingInstance: Required value',
        'action: Required value',
        'reason: Required value',
        'type: Invalid value: "": has invalid value: x',
        'count: Invalid value: "": needs to be unset',
      ]),
    );
  });

  test('validates leases', () => {
    const { object, errors } = create(
      'Lease',
      { spec: { leaseDurationSeconds: 0, leaseTransitions: -1, strategy: 'x' } },
      'coordination.k8s.io',
    );
    expect(errors).toEqual([
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
      'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
    ]);
    expect(object['spec']).toEqual({ leaseDurationSeconds: 0, leaseTransitions: -1 });
  });

  test('namespaces get a label, a phase, and a finalizer', () => {
    const { object } = create('Namespace', { metadata: { labels: { a: 'b' } }, status: { phase: 'Terminating' } });
    expect(object.metadata.labels).toEqual({ a: 'b', 'kubernetes.io/metadata.name': 'a' });
    expect([object['spec'], object['status']]).toEqual([{ finalizers: ['kubernetes'] }, { phase: 'Active' }]);
  });

  test('stringData becomes data', () => {
    const { object, errors } = create('Secret', { data: { a: 'aGk=', b: 'eA==' }, stringData: { b: 'é' } });
    expect(errors).toEqual([]);
    expect([object['type'], object['data'], object['stringData']]).toEqual([
      'Opaque',
      { a: 'aGk=', b: 'w6k=' },
      undefined,
    ]);
  });

  test('an invalid TLS secret produces a warning', () => {
    expect(
      create('Secret', { type: 'kubernetes.io/tls', stringData: { 'tls.crt': 'x', 'tls.key': 'y' } }).warnings,
    ).toEqual(['tls: failed to find any PEM data in certificate input']);
  });

  test.each([
    ['1.5e0', '1500e-3'],
    ['0.1Ki', '102400m'],
    ['3000m', undefined],
  ])('a fractional byte value produces a warning: %s', (storage, shown) => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } };
    const text = `spec.resources.requests[storage]: fractional byte value "${shown ?? ''}" is invalid, must be an integer`;
    expect(create('PersistentVolumeClaim', { spec }).warnings).toEqual(shown === undefined ? [] : [text]);
  });

  test('only the names in the secrets of a service account are kept', () => {
    expect(create('ServiceAccount', { secrets: [{ name: 's', uid: 'u' }] }).object['secrets']).toEqual([{ name: 's' }]);
  });

  test('pods get their defaults', () => {
    const { object, errors } = create('Pod', {
      spec: {
        hostNetwork: true,
        containers: [
          {
            name: 'c',
            image: 'x/y:1',
            ports: [{ containerPort: 80 }],
            resources: { limits: { cpu: '1', memory: '1Gi' } },
          },
        ],
        volumes: [{ name: 'v' }],
      },
    });
    expect(errors).toEqual([]);
    expect(object).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          {
            imagePullPolicy: 'IfNotPresent',
            ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }],
            resources: { requests: { cpu: '1', memory: '1Gi' } },
          },
        ],
      },
      status: { phase: 'Pending', qosClass: 'Guaranteed' },
    });
  });
});

describe('update', () => {
  const immutable = (field: string): string => `${field}: Forbidden: field is immutable when \`immutable\` is set`;
  const cases: [string, string, JsonObject, JsonObject, string, string[]][] = [
    [
      'immutable config maps',
      'ConfigMap',
      { data: { a: '2' } },
      { immutable: true, data: { a: '1' } },
      '',
      [immutable('immutable'), immutable('data')],
    ],
    [
      'immutable secrets',
      'Secret',
      { immutable: true, data: { a: 'eA==' } },
      { immutable: true },
      '',
      [immutable('data')],
    ],
    ['no data where there was none', 'Secret', { immutable: true }, { immutable: true }, '', []],
    [
      'empty data where there was none',
      'Secret',
      { immutable: true, data: {} },
      { immutable: true },
      '',
      [immutable('data')],
    ],
    [
      'empty data of a config map',
      'ConfigMap',
      { immutable: true, data: {}, binaryData: {} },
      { immutable: true },
      '',
      [immutable('binaryData')],
    ],
    ['type of a secret', 'Secret', { type: 'x' }, { type: 'y' }, '', ['type: Invalid value: "x": field is immutable']],
    ['type of a secret left out', 'Secret', {}, { type: 'Opaque' }, '', []],
    [
      'phase of a namespace',
      'Namespace',
      { status: { phase: 'Terminating' } },
      {},
      'status',
      ['status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty'],
    ],
    [
      'finalize',
      'Namespace',
      { spec: { finalizers: ['x'] } },
      { spec: { finalizers: ['kubernetes'] } },
      'finalize',
      ['spec.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified'],
    ],
    [
      'address of a service',
      'Service',
      { spec: { clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'], ports: [{ port: 1 }] } },
      { spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ports: [{ port: 1 }] } },
      '',
      ['spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'],
    ],
    [
      'claims are immutable',
      'PersistentVolumeClaim',
      { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2' } } } },
      { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } } },
      '',
      [
        'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n  "Resources": {\n   "Limits": null,\n   "Requests": {\n-   "storage": "1"\n+   "storage": "2"\n   }\n  },\n  "VolumeName": "",\n',
      ],
    ],
  ];
  test.each(cases)('%s', (_, kind, object, old, subresource, expected) => {
    expect(updateErrors(kind, object, old, subresource)).toEqual(expected);
  });

  test('an explicit empty list of scheduling gates does not count as a change of a pod', () => {
    const containers = [{ name: 'c', image: 'i' }];
    const spec = { containers, nodeName: 'n' };
    noteEmpty(spec, { schedulingGates: [], hostAliases: [] });
    const [error] = updateErrors('Pod', { spec }, { spec: { containers } });
    expect(error).toContain('+ "HostAliases": [],');
    expect(error).not.toContain('+ "SchedulingGates"');
  });
});

describe('tables', () => {
  const created = '2025-12-31T23:59:00Z';
  const rows: [string, string, JsonObject, JsonValue[]][] = [
    ['ConfigMap', '', { data: { a: '' }, binaryData: { b: '' } }, ['a', 2, '60s']],
    ['Secret', '', { type: 'Opaque', data: { a: '' } }, ['a', 'Opaque', 1, '60s']],
    ['Namespace', '', { status: { phase: 'Active' } }, ['a', 'Active', '60s']],
    ['Lease', 'coordination.k8s.io', { spec: { holderIdentity: 'h' } }, ['a', 'h', '60s']],
    [
      'Event',
      '',
      {
        involvedObject: { kind: 'Pod', name: 'p' },
        reason: 'r',
        type: 'Normal',
        message: ' m ',
        firstTimestamp: '2025-12-31T23:58:00Z',
        lastTimestamp: created,
        source: { component: 'c', host: 'h' },
      },
      ['60s', 'Normal', 'r', 'pod/p', '', 'c, h', 'm', '2m', 1, 'a'],
    ],
    [
      'Event',
      'events.k8s.io',
      {
        regarding: { kind: 'Pod' },
        note: 'n',
        eventTime: '2025-12-31T23:59:00.000000Z',
        series: { count: 3, lastObservedTime: '2025-12-31T23:59:30.000000Z' },
      },
      ['30s', '', '', 'pod', '', '', 'n', '60s', 3, 'a'],
    ],
    [
      'Pod',
      '',
      {
        spec: { containers: [{}, {}], nodeName: 'n1' },
        status: {
          phase: 'Running',
          containerStatuses: [
            { ready: true, state: { running: {} }, restartCount: 2 },
            { state: { waiting: { reason: 'CrashLoopBackOff' } } },
          ],
        },
      },
      ['a', '1/2', 'CrashLoopBackOff', '2', '60s', '<none>', 'n1', '<none>', '<none>'],
    ],
    [
      'Node',
      '',
      {
        spec: { unschedulable: true },
        status: {
          conditions: [{ type: 'Ready', status: 'True' }],
          nodeInfo: { kubeletVersion: 'v1', kernelVersion: 'k', architecture: 'amd64' },
          addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        },
      },
      [
        'a',
        'Ready,SchedulingDisabled',
        '<none>',
        '60s',
        'v1',
        '10.0.0.1',
        '<none>',
        '<unknown>',
        'k (amd64)',
        '<unknown>',
      ],
    ],
    [
      'Service',
      '',
      {
        spec: {
          type: 'NodePort',
          clusterIPs: ['10.0.0.1'],
          ports: [{ port: 80, nodePort: 30000, protocol: 'TCP' }],
          selector: { b: 'c', a: 'b' },
        },
      },
      ['a', 'NodePort', '10.0.0.1', '<none>', '80:30000/TCP', '60s', 'a=b,b=c'],
    ],
    [
      'Endpoints',
      '',
      { subsets: [{ addresses: [{ ip: '1.1.1.1' }, { ip: '::1' }], ports: [{ port: 1 }, { port: 2 }] }] },
      ['a', '1.1.1.1:1,[::1]:1,1.1.1.1:2 + 1 more...', '60s'],
    ],
    [
      'PersistentVolume',
      '',
      {
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
          claimRef: { namespace: 'n', name: 'c' },
        },
        status: { phase: 'Bound' },
      },
      ['a', '1Gi', 'RWO,RWX', '', 'Bound', 'n/c', '', '<unset>', '', '60s', '<unset>'],
    ],
    [
      'PersistentVolumeClaim',
      '',
      {
        spec: { volumeName: 'v', storageClassName: 's' },
        status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
      },
      ['a', 'Bound', 'v', '1Gi', 'RWO', 's', '<unset>', '60s', '<unset>'],
    ],
  ];
  test.each(rows)('%s.%s', (kind, group, object, expected) => {
    const table = typeOf(kind, group).versions[0]?.table;
    const cells = table?.cells({ ...object, metadata: { name: 'a', creationTimestamp: created } }, NOW);
    expect(cells).toEqual(expected);
    expect(cells).toHaveLength(table?.columns.length ?? 0);
  });
  test('every type has a table, and its ages line up with the columns', () => {
    for (const type of types) {
      const table = type.versions[0]?.table;
      expect(table?.columns.length).toBeGreaterThan(1);
      expect(table?.since?.({ metadata: { creationTimestamp: created } }).length).toBe(table?.columns.length);
    }
  });
});

describe('attributes', () => {
  test('labels and fields', () => {
    const pod = typeOf('Pod').attributes({
      metadata: { name: 'p', namespace: 'n', labels: { a: 'b' } },
      spec: { nodeName: 'x' },
      status: { phase: 'Running' },
    });
    expect(pod.labels).toEqual({ a: 'b' });
    expect(pod.fields).toMatchObject({
      'metadata.name': 'p',
      'metadata.namespace': 'n',
      'spec.nodeName': 'x',
      'spec.host': 'x',
      'status.phase': 'Running',
      'spec.hostNetwork': 'false',
    });
    const event = typeOf('Event').attributes({
      metadata: {},
      involvedObject: { kind: 'Pod' },
      reportingComponent: 'c',
    });
    expect(event.fields).toMatchObject({
      'involvedObject.kind': 'Pod',
      'regarding.kind': 'Pod',
      source: 'c',
      reportingController: 'c',
    });
  });
  test('every selectable field has a value', () => {
    for (const type of types) {
      const { fields } = type.attributes({ metadata: {} });
      for (const field of type.versions[0]?.selectableFields ?? [])
        expect([type.kind, field, typeof fields[field]]).toEqual([type.kind, field, 'string']);
    }
  });
});

test('a service created through its status gets no address defaults', () => {
  const spec = { ports: [{ port: 80 }], clusterIP: 'None' };
  const object: KubeObject = { metadata: { name: 'a', namespace: 'n' }, spec: structuredClone(spec), status: { x: 1 } };
  const strategy = typeOf('Service').subresources['status'];
  strategy?.prepareForCreate?.(contextOf(''), object);
  expect([object['spec'], object['status']]).toEqual([spec, { loadBalancer: {} }]);
});

describe('events in both versions', () => {
  test('round-trip', () => {
    const event: KubeObject = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'a' },
      eventTime: '2020-01-01T00:00:00.000000Z',
      regarding: { kind: 'Pod' },
      note: 'n',
      reportingController: 'c',
      deprecatedSource: {},
      deprecatedFirstTimestamp: null,
      deprecatedLastTimestamp: null,
    };
    const stored = toCoreEvent(event);
    expect(stored).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { kind: 'Pod' },
      message: 'n',
      reportingComponent: 'c',
      source: {},
    });
    expect(fromCoreEvent(stored)).toEqual(event);
  });

  test('a series always has a count in events.k8s.io/v1', () => {
    const core: KubeObject = { metadata: {}, series: { lastObservedTime: null } };
    const event = fromCoreEvent(core);
    expect(event['series']).toEqual({ count: 0, lastObservedTime: null });
    expect(toCoreEvent(event)['series']).toEqual({ lastObservedTime: null });
    expect(toCoreEvent({ metadata: {}, series: { count: 2, lastObservedTime: null } })['series']).toEqual({
      count: 2,
      lastObservedTime: null,
    });
  });
});

describe('deletion', () => {
  test('a namespace stays until its finalizers are removed', () => {
    const { deletion } = typeOf('Namespace');
    const live: KubeObject = {
      metadata: { name: 'a' },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    };
    const marked = deletion.beforeDelete?.(contextOf(''), live, UNSAID);
    expect(marked).toMatchObject({
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { phase: 'Terminating' },
    });
    expect(marked === undefined ? undefined : deletion.beforeDelete?.(contextOf(''), marked, UNSAID)).toEqual(marked);
    expect(
      deletion.beforeDelete?.(contextOf(''), { ...live, metadata: { deletionTimestamp: 'x' }, spec: {} }, UNSAID),
    ).toBeUndefined();
    expect(deletion.shouldDeleteDuringUpdate?.(live)).toBe(false);
  });
  test('a pod gets a grace period only while it runs on a node', () => {
    const grace = (pod: JsonObject, asked?: number): number | undefined =>
      typeOf('Pod').deletion.gracePeriodSeconds?.({ metadata: {}, ...pod }, asked);
    const running = { spec: { nodeName: 'n', terminationGracePeriodSeconds: 30 } };
    expect([
      grace(running),
      grace(running, 5),
      grace(running, -1),
      grace({ spec: {} }),
      grace({ ...running, status: { phase: 'Failed' } }),
    ]).toEqual([30, 5, 1, 0, 0]);
  });
});
