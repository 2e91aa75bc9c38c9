import type { JsonObject } from '../../apimachinery/json/json.js';
import { objectAt, stringsOf, textAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { AGE_COLUMN, column, NAME_COLUMN, tableWithAge } from '../../registry/generic/columns.js';
import type { ComputedKind } from '../../registry/rest/computed.js';
import { GROUP, VERSION } from '../names.js';
import { Revisions, type RevisionsOptions } from './revisions.js';
import { SELECTABLE } from './shown-revision.js';

const text = (description: string): JsonObject => ({ type: 'string', description });

const SCHEMA: JsonObject = {
  type: 'object',
  description:
    'ObjectRevision is one write of an object: who did it, when, how, and what it made of the object. It is read-only, and kept as long as the Retention of the type says.',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    object: {
      type: 'object',
      description: 'The object that was written.',
      properties: {
        group: text('The API group; absent for the core group.'),
        resource: text('Plural name of the resource.'),
        kind: text('The kind of the object.'),
        namespace: text('The namespace of the object.'),
        name: text('The name of the object.'),
        uid: text('The uid of the object.'),
      },
    },
    operation: { type: 'string', enum: ['Create', 'Update', 'Delete'], description: 'What the write did.' },
    revision: text('The resourceVersion that the write gave the object. A deletion has one, too.'),
    time: {
      type: 'string',
      format: 'date-time',
      description: 'When the write was committed, by the clock of the store.',
    },
    by: {
      type: 'object',
      description: 'Who wrote. Absent for writes by the server itself.',
      properties: {
        user: text('The name of the user.'),
        manager: text('The field manager of the write.'),
        userAgent: text('The user agent of the client.'),
        auditID: text('The ID of the audit events about the request.'),
        impersonator: text('The user who impersonated the user.'),
      },
    },
    changedFields: {
      type: 'array',
      items: { type: 'string' },
      description: 'The paths of the fields that an update changed, up to 100.',
    },
    moreChangedFields: { type: 'integer', description: 'The number of changed fields that are not listed.' },
    content: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      description:
        'The object as the write left it, or for a deletion as it was before. Only in the response to a get, not in lists and watches.',
    },
    unreadable: text('The reason why the state cannot be decrypted or decoded.'),
  },
};

const MAX_SHOWN_FIELDS = 3;

function fieldsCell(revision: KubeObject): string {
  const paths = stringsOf(revision['changedFields']);
  const more = paths.length - MAX_SHOWN_FIELDS + Number(revision['moreChangedFields'] ?? 0);
  return `${paths.slice(0, MAX_SHOWN_FIELDS).join(' ')}${more > 0 ? ` +${String(more)}` : ''}`;
}

const COLUMNS = [
  NAME_COLUMN,
  column('Resource', 'string', 'The type of the object.'),
  column('Object', 'string', 'The name of the object.'),
  column('Operation', 'string', 'What the write did.'),
  column('Revision', 'string', 'The resourceVersion that the write gave the object.', 1),
  AGE_COLUMN,
  column('User', 'string', 'Who wrote.'),
  column('Manager', 'string', 'The field manager of the write.', 1),
  column('Changed Fields', 'string', 'The fields that an update changed.'),
];

function cells(revision: KubeObject): string[] {
  const about = objectAt(revision, 'object');
  const by = objectAt(revision, 'by');
  const group = textAt(about, 'group');
  return [
    revision.metadata.name ?? '',
    `${textAt(about, 'resource')}${group === '' ? '' : `.${group}`}`,
    textAt(about, 'name'),
    textAt(revision, 'operation'),
    textAt(revision, 'revision'),
    textAt(by, 'user'),
    textAt(by, 'manager'),
    fieldsCell(revision),
  ];
}

/** Returns the kinds ObjectRevision and ClusterObjectRevision. */
export function revisionKinds(options: RevisionsOptions): ComputedKind[] {
  const common = {
    group: GROUP,
    version: VERSION,
    table: tableWithAge(COLUMNS, cells),
    schema: SCHEMA,
    selectableFields: SELECTABLE,
  };
  return [
    {
      ...common,
      kind: 'ObjectRevision',
      resource: 'objectrevisions',
      singular: 'objectrevision',
      shortNames: ['objrev'],
      namespaced: true,
      storage: new Revisions(options, 'objectrevisions'),
    },
    {
      ...common,
      kind: 'ClusterObjectRevision',
      resource: 'clusterobjectrevisions',
      singular: 'clusterobjectrevision',
      shortNames: ['cobjrev'],
      namespaced: false,
      storage: new Revisions(options, 'clusterobjectrevisions'),
    },
  ];
}
