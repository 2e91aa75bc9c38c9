import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { Attributes } from '../../storage/cacher/interfaces.js';

/** Labels, name and namespace of an object, and the fields that its type adds. */
export function objectAttributes(
  object: JsonObject,
  namespaced: boolean,
  more: Readonly<Record<string, string>> = {},
): Attributes {
  const meta = objectAt(object, 'metadata');
  const name = { 'metadata.name': stringAt(meta, 'name') ?? '' };
  const place = namespaced ? { 'metadata.namespace': stringAt(meta, 'namespace') ?? '' } : {};
  return {
    labels: objectAt(meta, 'labels') as Record<string, string> | undefined,
    fields: { ...name, ...place, ...more },
  };
}
