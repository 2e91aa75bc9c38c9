import { isObject, type JsonObject, type JsonValue, objectAt, textAt } from '../../apimachinery/json/json.js';
import { simplePath } from '../../schema/scale.js';
import { SHARD_UID } from '../../apimachinery/selectors/selection-predicate.js';
import type { Attributes } from '../../storage/cacher/interfaces.js';
import { featureGates } from '../../util/feature-gates.js';
import type { Definition } from './definition.js';

/**
 * Returns a function for the labels and selectable fields of a custom resource, by the paths of all versions of its definition.
 * Where a stored object lacks fields, it has the defaults of the version in which it is stored.
 */
export function customAttributes(
  definition: Definition,
  form: 'stored' | 'shown' = 'stored',
): (object: JsonObject) => Attributes {
  const selectable = new Set(definition.versions.flatMap((version) => version.selectableFields));
  const paths = [...selectable].map((path) => ({ name: path.replace(/^\./, ''), keys: simplePath(path) }));
  const schemas = new Map<string, JsonObject | undefined>();
  if (form === 'stored')
    for (const { name, schema } of definition.versions) schemas.set(`${definition.group}/${name}`, schema);
  return (object) => {
    const meta = objectAt(object, 'metadata');
    const fields: Record<string, string> = { 'metadata.name': textAt(meta, 'name') };
    if (definition.namespaced) fields['metadata.namespace'] = textAt(meta, 'namespace');
    if (featureGates.enabled('ShardedListAndWatch')) fields[SHARD_UID] = textAt(meta, 'uid');
    if (paths.length > 0) {
      const schema = schemas.get(textAt(object, 'apiVersion'));
      for (const { name, keys } of paths) fields[name] = selectableValue(object, keys, schema);
    }
    return { labels: objectAt(meta, 'labels') as Record<string, string> | undefined, fields };
  };
}

function selectableValue(object: JsonObject, keys: readonly string[], schema: JsonObject | undefined): string {
  let value: JsonValue | undefined = object;
  let properties = objectAt(schema, 'properties');
  for (const key of keys) {
    if (!isObject(value)) return '';
    const member: JsonValue | undefined = value[key];
    const field = objectAt(properties, key);
    const isMissing: boolean = member === undefined || (member === null && field?.['nullable'] !== true);
    value = isMissing ? field?.['default'] : member;
    properties = objectAt(field, 'properties');
  }
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}
