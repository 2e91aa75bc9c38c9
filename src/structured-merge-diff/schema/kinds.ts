import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import type { MapType, Type } from './schema.js';

export type Kind = 'map' | 'scalar' | 'list' | 'none';

/**
 * Returns how to treat a value of the type: as its own kind if the type allows that, else as the first kind that the
 * type allows of map, scalar and list.
 */
export function kindOf(type: Type, value: JsonValue | undefined): Kind {
  if (typeof value === 'object') {
    if (value !== null) {
      if (Array.isArray(value)) {
        if (type.list !== undefined) return 'list';
      } else if (type.map !== undefined) return 'map';
    }
  } else if (value !== undefined && type.scalar !== undefined) return 'scalar';
  if (type.map !== undefined) return 'map';
  if (type.scalar !== undefined) return 'scalar';
  return type.list !== undefined ? 'list' : 'none';
}

const NOTHING: Type = {};

/** Returns the type of a field of a map; for unknown fields, a type that accepts no value. */
export function fieldType(map: MapType, name: string): Type {
  return map.fields.get(name)?.type ?? map.element ?? NOTHING;
}

/** Returns a member of a map, but not what every object inherits (`constructor` …). */
export function member(map: JsonObject, key: string): JsonValue | undefined {
  const value: unknown = map[key];
  return typeof value === 'function' ? undefined : (value as JsonValue | undefined);
}

/** Returns the value if it is a map. */
export function asMap(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}
