import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { column, count, text } from '../../registry/builtin/kubeannex/schemas.js';
import { GROUP } from '../names.js';
import { conditionsSchema, ownDefinition } from '../own-definition.js';

export const OBJECT_RESTORES = { group: GROUP, resource: 'objectrestores' };

const time = (description: string): JsonObject => ({ type: 'string', format: 'date-time', description });
const flag = (description: string): JsonObject => ({ type: 'boolean', default: false, description });

const LABEL_SELECTOR: JsonObject = {
  type: 'object',
  'x-kubernetes-map-type': 'atomic',
  description: 'Selects objects by the labels that they had.',
  properties: {
    matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
    matchExpressions: {
      type: 'array',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: { type: 'string' },
          operator: { type: 'string', enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
          values: { type: 'array', items: { type: 'string' } },
        },
      },
    },
  },
};

const CREATOR: JsonObject = {
  type: 'object',
  description:
    'The user who created the restore, with whose rights it writes. Recorded by the server; any other value is overwritten.',
  properties: {
    username: text('The name of the user.'),
    uid: text('The uid of the user.'),
    groups: { type: 'array', items: { type: 'string' }, description: 'The groups of the user.' },
    extra: {
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'string' } },
      description: 'Further facts about the user.',
    },
  },
};

const SPEC: JsonObject = {
  type: 'object',
  description: 'What to bring back. It cannot be changed.',
  required: ['resource'],
  'x-kubernetes-validations': [
    { rule: 'self == oldSelf', message: 'a restore cannot be changed; create another one' },
    {
      rule: '!has(self.as) || !has(self.as.name) || (has(self.names) && self.names.size() == 1)',
      message: 'as.name needs exactly one entry in names',
    },
  ],
  properties: {
    resource: {
      type: 'object',
      required: ['resource'],
      description: 'The type of the objects.',
      properties: {
        group: { type: 'string', default: '', description: 'The API group; empty for the core group.' },
        resource: { type: 'string', minLength: 1, description: 'Plural name of the resource.' },
      },
    },
    namespace: text('The namespace of the objects. Absent: all namespaces, or a cluster-scoped type.'),
    names: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'The names of the objects. Absent: all that the other conditions select.',
    },
    labelSelector: LABEL_SELECTOR,
    where: text('A CEL expression over object, the state to bring back. Objects on which it fails are not selected.'),
    deletedSince: time('Only objects that were deleted at or after this time.'),
    to: {
      type: 'object',
      description:
        'The state to bring back: that at a revision or at a time, for deleted and existing objects. Absent: the last state of deleted objects.',
      'x-kubernetes-validations': [
        { rule: 'has(self.revision) != has(self.time)', message: 'exactly one of revision and time must be set' },
      ],
      properties: {
        revision: { type: 'string', pattern: '^[1-9][0-9]{0,15}$', description: 'A resourceVersion.' },
        time: time('A time.'),
      },
    },
    as: {
      type: 'object',
      description: 'Where to bring the objects back, if not in their own place.',
      properties: {
        name: text('The name of the one object.'),
        namespace: text('The namespace of the objects.'),
      },
    },
    dryRun: flag('Only counts: everything is checked, nothing is written.'),
    force: flag('Overwrites newer objects under the names. They keep their uids.'),
    withoutFinalizers: flag('Brings objects back without finalizers.'),
    contents: flag('With a Namespace or a definition, brings back what was deleted with it, too.'),
    createdBy: CREATOR,
  },
};

const STATUS: JsonObject = {
  type: 'object',
  description: 'What was brought back.',
  properties: {
    phase: {
      type: 'string',
      enum: ['Pending', 'Running', 'Complete', 'Failed'],
      description: 'The phase of the restore. Refusals do not make it Failed.',
    },
    selected: count('The number of objects that the spec selects.'),
    restored: count('The number of objects that were brought back.'),
    unchanged: count('The number of objects that were already in the state to bring back.'),
    conflicts: count('The number of objects that were not brought back because of a newer object or change.'),
    refused: count('The number of objects that were refused: by a missing right, admission, validation or a quota.'),
    refusals: {
      type: 'array',
      description: 'The refusals by reason. Of StatusNotRestored, the object itself was brought back.',
      items: {
        type: 'object',
        required: ['reason', 'message', 'count', 'example'],
        properties: {
          reason: text('The reason, as in the Status of a refused request.'),
          message: text('The message of the first refusal.'),
          count: count('The number of objects.'),
          example: text('The first object.'),
        },
      },
    },
    ownersLeftOut: {
      type: 'array',
      description: 'Owner references that were left out because the owner is gone, up to 100.',
      items: {
        type: 'object',
        required: ['object', 'owner'],
        properties: { object: text('The object.'), owner: text('The owner.') },
      },
    },
    conditions: conditionsSchema('Complete: the restore has ended. Failed: it could not be carried out.'),
  },
};

/** Returns the definition of ObjectRestore. */
export const restoreDefinition = (): KubeObject =>
  ownDefinition({
    plural: OBJECT_RESTORES.resource,
    singular: 'objectrestore',
    kind: 'ObjectRestore',
    shortNames: ['objrestore'],
    columns: [
      column('Resource', '.spec.resource.resource'),
      column('Phase', '.status.phase'),
      column('Selected', '.status.selected', 'integer'),
      column('Restored', '.status.restored', 'integer'),
      column('Conflicts', '.status.conflicts', 'integer'),
      column('Refused', '.status.refused', 'integer'),
      column('Age', '.metadata.creationTimestamp', 'date'),
    ],
    schema: {
      description:
        'ObjectRestore brings objects back: deleted ones in their last state, or deleted and existing ones in an earlier one. It is written with the rights of its creator, and deleted an hour after it has ended.',
      required: ['spec'],
      properties: { spec: SPEC, status: STATUS },
    },
  });
