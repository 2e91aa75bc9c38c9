import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import type { MapType, Type } from './schema.js';

export type Kind = 'map' | 'scalar' | 'list' | 'none';

/**
 * As what a value of the type is treated: as what it is, if the type allows that, else as the first that the type allows of map,
 * scalar, list.
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

/** The type of a field of a map; for unknown fields one that accepts nothing. */
export function fieldType(map: MapType, name: string): Type {
  return map.fields.get(name)?.type ?? map.element ?? NOTHING;
}

/** A member of a map; what every object inherits (`constructor` …) is none. */
export function member(map: JsonObject, key: string): JsonValue | undefined {
  const value: unknown = map[key];
  return typeof value === 'function' ? undefined : (value as JsonValue | undefined);
}

/** Whether a map or list is null or without content; of maps only what is defined counts. */
export function isEmptyMap(map: JsonObject): boolean {
  for (const key in map) if (map[key] !== undefined) return false;
  return true;
}
