import { isObject, type JsonObject, objectAt, stringAt } from '../../apimachinery/json.js';
import { simplePath } from '../../schema/scale.js';
import type { Attributes } from '../../storage/cacher/interfaces.js';
import type { Definition } from './definition.js';

/** Labels and selectable fields of a custom resource, by the paths of all versions of its definition. */
export function customAttributes(definition: Definition): (object: JsonObject) => Attributes {
  const selectable = new Set(definition.versions.flatMap((version) => version.selectableFields));
  const paths = [...selectable].map((path) => ({ name: path.replace(/^\./, ''), keys: simplePath(path) }));
  return (object) => {
    const meta = objectAt(object, 'metadata');
    const fields: Record<string, string> = { 'metadata.name': stringAt(meta, 'name') ?? '' };
    if (definition.namespaced) fields['metadata.namespace'] = stringAt(meta, 'namespace') ?? '';
    for (const { name, keys } of paths) fields[name] = selectableValue(object, keys);
    return { labels: objectAt(meta, 'labels') as Record<string, string> | undefined, fields };
  };
}

function selectableValue(object: JsonObject, keys: readonly string[]): string {
  let value: JsonObject[string] = object;
  for (const key of keys) value = isObject(value) ? value[key] : undefined;
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}
