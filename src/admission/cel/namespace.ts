import { objectAt, type JsonObject } from '../../apimachinery/json/json.js';

const METADATA = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'finalizers',
];

const known = new WeakMap<JsonObject, JsonObject>();

/** Returns the fields of a namespace that expressions can read. */
export function namespaceForExpressions(namespace: JsonObject): JsonObject {
  let seen = known.get(namespace);
  if (seen === undefined) {
    const metadata: JsonObject = {};
    const given = objectAt(namespace, 'metadata') ?? {};
    for (const key of METADATA) if (given[key] !== undefined) metadata[key] = given[key];
    seen = { metadata, spec: objectAt(namespace, 'spec') ?? {}, status: objectAt(namespace, 'status') ?? {} };
    known.set(namespace, seen);
  }
  return seen;
}
