import { isObject, type JsonObject } from '../apimachinery/json/json.js';
import { LruCache } from '../util/caches/lru-cache.js';
import { type ReadFields, readFieldsV1 } from '../structured-merge-diff/fieldpath/serialize.js';

/** The maximum size of all cached texts together. A text that takes more than a 64th of it is not cached. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** The cost of a text in addition to its characters. The decoded set is a few times as large as the text. */
const OVERHEAD = 256;

const costOf = (text: string): number => text.length + OVERHEAD;

/** The sets of all field managers by their JSON text, so that objects of all types share one bound. */
const sets = new LruCache<string, ReadFields>({ capacity: MAX_CHARACTERS, weigh: costOf });

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
  if (costOf(text) <= MAX_CHARACTERS / 64) sets.set(text, decoded);
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
