import { isObject, type JsonObject } from '../apimachinery/json/json.js';
import { watchCache } from '../util/caches/cache-metrics.js';
import { LruCache } from '../util/caches/lru-cache.js';
import { type ReadFields, readFieldsV1 } from '../structured-merge-diff/fieldpath/serialize.js';

/** The maximum number of bytes of all cached texts and sets. A text that takes more than a 64th of it is not cached. */
const MAX_BYTES = 64 << 20;
const ENTRY_BYTES = 256;
/** The bytes of a text and its decoded set, which is a few times as large, by character. */
const BYTES_PER_CHARACTER = 8;

const bytesOf = (text: string): number => ENTRY_BYTES + BYTES_PER_CHARACTER * text.length;

/** The sets of all field managers by their JSON text, so that objects of all types share one bound. */
const sets = new LruCache<string, ReadFields>({ capacity: MAX_BYTES, weigh: bytesOf });
watchCache('field_sets', sets);

/**
 * Decodes a field set, or returns a cached one with the same JSON text. Objects of one type that a controller writes share a few texts,
 * and every write of an object repeats its own. A hit returns the same set object, so other caches can be keyed by its identity. Throws
 * SyntaxError.
 */
export function decodeFieldSet(fields: JsonObject): ReadFields {
  if (isWide(fields)) return readFieldsV1(fields);
  const text = textOf(fields);
  const known = sets.get(text);
  if (known !== undefined) return known;
  const decoded = readFieldsV1(fields);
  if (bytesOf(text) <= MAX_BYTES / 64) sets.set(text, decoded);
  return decoded;
}

/** The number of members in one part of a set above which its text would not be cached. */
const WIDE = 4096;

/** Reports whether a set belongs to a large map or list. Checks two levels below the object's own fields, such as spec.items. */
function isWide(fields: JsonObject, depth = 0): boolean {
  let left = WIDE;
  for (const key in fields) {
    if (--left < 0) return true;
    const below = fields[key];
    if (depth < 2 && isObject(below) && isWide(below, depth + 1)) return true;
  }
  return false;
}

/** Throws SyntaxError for a value that cannot be serialized (nested too deep, misplaced numbers), because it is not a field set. */
function textOf(fields: JsonObject): string {
  try {
    return JSON.stringify(fields);
  } catch {
    throw new SyntaxError('fieldsV1 is nested too deeply or cannot be serialized as JSON');
  }
}
