import type { JsonObject } from '../../src/apimachinery/json/json.js';

/** A resource type that requests are sent to. */
export interface Kind {
  readonly root: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly apiVersion: string;
  readonly kind: string;
  /** The content of a valid object besides its metadata. */
  readonly content: JsonObject;
  readonly subresources: readonly string[];
}

const GROUP = 'fuzz.example.com';

const core = (
  plural: string,
  kind: string,
  content: JsonObject,
  subresources: readonly string[] = [],
  namespaced = true,
): Kind => ({
  root: '/api/v1',
  plural,
  namespaced,
  apiVersion: 'v1',
  kind,
  content,
  subresources,
});

const widget = (version: string): Kind => ({
  root: `/apis/${GROUP}/${version}`,
  plural: 'widgets',
  namespaced: true,
  apiVersion: `${GROUP}/${version}`,
  kind: 'Widget',
  content: { spec: { size: 3, mode: 'fast', tags: ['a', 'b'], ports: [{ port: 1, name: 'x' }], replicas: 2 } },
  subresources: ['status', 'scale', 'other'],
});

export const WIDGETS = widget('v1');
export const CUSTOM: readonly Kind[] = [
  WIDGETS,
  widget('v1beta1'),
  {
    root: `/apis/${GROUP}/v1`,
    plural: 'gizmos',
    namespaced: false,
    apiVersion: `${GROUP}/v1`,
    kind: 'Gizmo',
    content: { spec: { any: { thing: 1 } } },
    subresources: ['status', 'scale'],
  },
];
export const PLAIN: readonly Kind[] = [
  core('configmaps', 'ConfigMap', { data: { a: '1' }, binaryData: { b: 'AAEC' } }),
  core('secrets', 'Secret', { type: 'Opaque', data: { a: 'MQ==' }, stringData: { c: 'x' } }),
  {
    root: '/apis/coordination.k8s.io/v1',
    plural: 'leases',
    namespaced: true,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    content: {
      spec: {
        holderIdentity: 'x',
        leaseDurationSeconds: 15,
        renewTime: '2024-01-01T00:00:00.000000Z',
        leaseTransitions: 0,
      },
    },
    subresources: [],
  },
];
export const BUILT_IN: readonly Kind[] = [
  core(
    'pods',
    'Pod',
    {
      spec: {
        containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }], env: [{ name: 'A', value: 'b' }] }],
      },
    },
    ['status', 'other'],
  ),
  core(
    'services',
    'Service',
    {
      spec: {
        ports: [{ name: 'p', port: 80, protocol: 'TCP', targetPort: 8080 }],
        selector: { a: 'b' },
        clusterIP: 'None',
      },
    },
    ['status'],
  ),
  core('endpoints', 'Endpoints', {
    subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ name: 'p', port: 80, protocol: 'TCP' }] }],
  }),
  core(
    'nodes',
    'Node',
    { spec: { podCIDR: '10.9.0.0/24', taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] } },
    ['status'],
    false,
  ),
  core(
    'persistentvolumes',
    'PersistentVolume',
    { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } } },
    ['status'],
    false,
  ),
  core(
    'persistentvolumeclaims',
    'PersistentVolumeClaim',
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'x' } },
    ['status'],
  ),
  core('events', 'Event', {
    involvedObject: { kind: 'Pod', name: 'p1', namespace: '{ns}', apiVersion: 'v1' },
    reason: 'R',
    message: 'm',
    type: 'Normal',
    source: { component: 'c' },
    firstTimestamp: '2024-01-01T00:00:00Z',
    lastTimestamp: '2024-01-01T00:00:00Z',
    count: 1,
  }),
  {
    root: '/apis/events.k8s.io/v1',
    plural: 'events',
    namespaced: true,
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    subresources: [],
    content: {
      regarding: { kind: 'Pod', name: 'p1', namespace: '{ns}' },
      reason: 'R',
      action: 'A',
      type: 'Normal',
      note: 'n',
      reportingController: 'x.io/c',
      reportingInstance: 'i',
      eventTime: '2024-01-01T00:00:00.000000Z',
    },
  },
  core('serviceaccounts', 'ServiceAccount', { secrets: [{ name: 's' }], automountServiceAccountToken: false }, [
    'token',
  ]),
];
export const RULES: readonly Kind[] = [
  {
    root: '/apis/rbac.authorization.k8s.io/v1',
    plural: 'roles',
    namespaced: true,
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    subresources: [],
    content: { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  },
  {
    root: '/apis/rbac.authorization.k8s.io/v1',
    plural: 'rolebindings',
    namespaced: true,
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    subresources: [],
    content: {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'w1' },
      subjects: [{ kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' }],
    },
  },
];

const any: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const schema: JsonObject = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      'x-kubernetes-validations': [{ rule: '!has(self.replicas) || self.replicas < 100', message: 'too many' }],
      properties: {
        size: { type: 'integer', minimum: 0, maximum: 1000 },
        ratio: { type: 'number', multipleOf: 0.5 },
        enabled: { type: 'boolean', default: true },
        mode: { type: 'string', enum: ['fast', 'slow'], default: 'fast' },
        name: { type: 'string', minLength: 2, maxLength: 10, pattern: '^[a-z]+$' },
        at: { type: 'string', format: 'date-time' },
        settled: {
          type: 'string',
          'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'settled is immutable' }],
        },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set', maxItems: 5 },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port'],
          items: {
            type: 'object',
            required: ['port'],
            properties: { port: { type: 'integer' }, name: { type: 'string' } },
          },
        },
        extra: { type: 'object', additionalProperties: { type: 'string' } },
        either: { 'x-kubernetes-int-or-string': true },
        open: any,
        maybe: { type: 'string', nullable: true },
        replicas: { type: 'integer' },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
    status: {
      type: 'object',
      properties: { replicas: { type: 'integer' }, phase: { type: 'string' }, selector: { type: 'string' } },
    },
  },
};

const widgetVersion = (name: string, more: JsonObject): JsonObject => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  additionalPrinterColumns: [
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode', priority: 1, description: 'how' },
    { name: 'At', type: 'date', jsonPath: '.spec.at' },
  ],
  selectableFields: [{ jsonPath: '.spec.mode' }, { jsonPath: '.spec.size' }, { jsonPath: '.spec.enabled' }],
  ...more,
});

const definition = (plural: string, kind: string, scope: string, versions: JsonObject[]): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope,
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions,
  },
});

export const DEFINITIONS: readonly JsonObject[] = [
  definition('widgets', 'Widget', 'Namespaced', [
    widgetVersion('v1', {}),
    widgetVersion('v1beta1', { deprecated: true }),
  ]),
  definition('gizmos', 'Gizmo', 'Cluster', [
    { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: any } },
  ]),
];

export const NAMES = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7'];

/** Returns a valid object. */
export function objectOf(kind: Kind, name: string, index = 0): JsonObject {
  const app = ['a', 'b', 'c'][index % 3] ?? 'a';
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name,
      ...(kind.namespaced ? { namespace: '{ns}' } : {}),
      labels: { app, n: String(index) },
      annotations: { note: 'x' },
    },
    ...kind.content,
  };
}
