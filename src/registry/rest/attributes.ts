import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { Scope } from '../../apimachinery/meta/meta.js';
import type { Attributes } from '../../storage/cacher/interfaces.js';

/** Returns the labels, name and namespace of an object. */
export function objectAttributes(object: JsonObject, scope: Scope): Attributes {
  const meta = objectAt(object, 'metadata');
  const name = { 'metadata.name': stringAt(meta, 'name') ?? '' };
  const place = scope === 'Namespaced' ? { 'metadata.namespace': stringAt(meta, 'namespace') ?? '' } : {};
  return {
    labels: objectAt(meta, 'labels') as Record<string, string> | undefined,
    fields: { ...name, ...place },
  };
}
