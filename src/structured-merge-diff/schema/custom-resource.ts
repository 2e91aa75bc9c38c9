import type { JsonObject } from '../../apimachinery/json/json.js';
import { TypeBuilder } from './json-schema.js';
import { DEDUCED, type Type } from './schema.js';

export type { Type } from './schema.js';

const text = { type: 'string' };
const key = { type: 'string', default: '' };
const time = { type: 'string', format: 'date-time' };
const number = { type: 'integer', format: 'int64' };
const flag = { type: 'boolean' };
const texts = { type: 'object', additionalProperties: text };

const ownerReference = {
  type: 'object',
  properties: { apiVersion: text, blockOwnerDeletion: flag, controller: flag, kind: text, name: text, uid: key },
  'x-kubernetes-map-type': 'atomic',
};

const managedFieldsEntry = {
  type: 'object',
  properties: {
    apiVersion: text,
    fieldsType: text,
    fieldsV1: { type: 'object' },
    manager: text,
    operation: text,
    subresource: text,
    time,
  },
};

/** The structure of meta/v1 ObjectMeta. */
const objectMeta: JsonObject = {
  type: 'object',
  properties: {
    annotations: texts,
    creationTimestamp: time,
    deletionGracePeriodSeconds: number,
    deletionTimestamp: time,
    finalizers: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    generateName: text,
    generation: number,
    labels: texts,
    managedFields: { type: 'array', items: managedFieldsEntry, 'x-kubernetes-list-type': 'atomic' },
    name: text,
    namespace: text,
    ownerReferences: {
      type: 'array',
      items: ownerReference,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
    },
    resourceVersion: text,
    selfLink: text,
    uid: text,
  },
};

const META_NAME = 'ObjectMeta';
const resourceProperties: JsonObject = {
  apiVersion: text,
  kind: text,
  metadata: { $ref: `#/components/schemas/${META_NAME}` },
};

/**
 * Returns the type of a version of a custom resource, built from its structural `schema` (openAPIV3Schema), which is
 * undefined if it has none. `preserveUnknownFields`: the definition preserves unknown fields everywhere.
 */
export function customResourceType(schema: JsonObject | undefined, preserveUnknownFields = false): Type {
  if (schema === undefined) return { map: { fields: new Map(), element: DEDUCED, atomic: false } };
  const builder = new TypeBuilder({ [META_NAME]: objectMeta }, resourceProperties);
  return builder.inline({ ...schema, 'x-kubernetes-embedded-resource': true }, preserveUnknownFields);
}
