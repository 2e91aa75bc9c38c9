import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { column, count } from '../../registry/builtin/kubeannex/schemas.js';
import { GROUP } from '../names.js';
import { conditionsSchema, ownDefinition } from '../own-definition.js';

export const RETENTIONS = { group: GROUP, resource: 'retentions' };

const time = (description: string): JsonObject => ({ type: 'string', format: 'date-time', description });

/** A duration as Go writes it. */
const duration = (description: string, fallback: string): JsonObject => ({
  type: 'string',
  description,
  default: fallback,
  maxLength: 64,
  'x-kubernetes-validations': [
    {
      rule: "self == '0' || (self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) <= duration('876000h'))",
      message: 'must be a duration such as 168h or 30m, not negative',
    },
  ],
});

const SPEC: JsonObject = {
  type: 'object',
  required: ['resource'],
  description: 'What is kept of a type.',
  properties: {
    resource: {
      type: 'object',
      required: ['resource'],
      description: 'The type.',
      'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'field is immutable' }],
      properties: {
        group: { type: 'string', default: '', maxLength: 253, description: 'The API group; empty for the core group.' },
        resource: { type: 'string', minLength: 1, maxLength: 253, description: 'Plural name of the resource.' },
      },
    },
    keepDeletedFor: duration('How long the last state of a deleted object is kept.', '168h'),
    keepRevisionsFor: duration('How long superseded revisions are kept. 0s: within the history window only.', '0s'),
    maxRevisionsPerObject: {
      ...count('The maximum number of superseded revisions of one object. 0: no limit.'),
      default: 50,
      maximum: 1_000_000,
    },
    maxBytes: {
      'x-kubernetes-int-or-string': true,
      default: '1Gi',
      description:
        'The maximum size of both, in bytes as stored. The oldest go first, superseded revisions before deleted objects. 0: no limit.',
      'x-kubernetes-validations': [
        {
          rule: 'type(self) == int ? self >= 0 : (self.size() < 64 && isQuantity(self) && sign(quantity(self)) >= 0)',
          message: 'must be a quantity such as 1Gi, not negative',
        },
      ],
    },
  },
};

const USAGE = { count: count('The number of states.'), bytes: count('Their size in bytes, as stored.') };

const STATUS: JsonObject = {
  type: 'object',
  description: 'What is kept beyond the history window.',
  properties: {
    revisions: { type: 'object', description: 'Superseded revisions.', properties: USAGE },
    deleted: {
      type: 'object',
      description: 'The last states of deleted objects.',
      properties: { ...USAGE, oldest: time('The time of the oldest deletion.') },
    },
    pendingPurge: {
      type: 'object',
      description: 'What a shorter policy no longer keeps. It goes 24 hours after the change.',
      properties: { objects: count('The number of states.'), at: time('When they go.') },
    },
    conditions: conditionsSchema(
      'Ready: the policy is in effect. WithinBytes: False while states go because of maxBytes, not of their age.',
    ),
  },
};

/** Returns the definition of Retention. */
export const retentionDefinition = (): KubeObject =>
  ownDefinition({
    plural: RETENTIONS.resource,
    singular: 'retention',
    kind: 'Retention',
    shortNames: [],
    columns: [
      column('Deleted', '.spec.keepDeletedFor'),
      column('Revisions', '.spec.keepRevisionsFor'),
      column('Max bytes', '.spec.maxBytes'),
      column('Kept deleted', '.status.deleted.count', 'integer'),
      column('Kept revisions', '.status.revisions.count', 'integer'),
      column('Age', '.metadata.creationTimestamp', 'date'),
    ],
    schema: {
      description:
        'Retention says how long deleted objects and superseded revisions of a type are kept. What it keeps less of goes 24 hours later.',
      required: ['spec'],
      'x-kubernetes-validations': [
        {
          rule: "self.metadata.name == self.spec.resource.resource + (self.spec.resource.group == '' ? '' : '.' + self.spec.resource.group)",
          message:
            'metadata.name must be that of its type: the plural, a dot and the group; the plural alone in the core group',
        },
      ],
      properties: { spec: SPEC, status: STATUS },
    },
  });
