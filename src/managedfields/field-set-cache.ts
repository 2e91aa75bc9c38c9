import { isObject, type JsonObject } from '../apimachinery/json/json.js';
import { LruCache } from '../util/caches/lru-cache.js';
import { type ReadFields, readFieldsV1 } from '../structured-merge-diff/fieldpath/serialize.js';

/** What a text takes beside its characters: the set itself is a few times as large as its text. */
const OVERHEAD = 256;

/**
 * Decoded field sets by their JSON text. Objects of a type that a controller writes have the same few texts, and every object brings its
 * own back at each write. A hit returns the same set, by whose identity others cache in turn. Least recently used go first.
 */
export class FieldSetCache {
  private readonly byText: LruCache<string, ReadFields>;
  private hitCount = 0;
  private missCount = 0;

  /** `maxCharacters`: of all texts together; a text that needs more than a 64th of that is not kept. */
  constructor(private readonly maxCharacters = 8 * 1024 * 1024) {
    this.byText = new LruCache({ capacity: maxCharacters, weigh: costOf });
  }

  /** Throws SyntaxError. */
  decode(fields: JsonObject): ReadFields {
    if (isWide(fields)) return readFieldsV1(fields);
    const text = textOf(fields);
    const known = this.byText.get(text);
    if (known !== undefined) {
      this.hitCount++;
      return known;
    }
    this.missCount++;
    const decoded = readFieldsV1(fields);
    if (costOf(text) <= this.maxCharacters / 64) this.byText.set(text, decoded);
    return decoded;
  }

  /** For metrics. */
  get statistics(): {
    readonly sets: number;
    readonly characters: number;
    readonly hits: number;
    readonly misses: number;
  } {
    return { sets: this.byText.size, characters: this.byText.weight, hits: this.hitCount, misses: this.missCount };
  }
}

const costOf = (text: string): number => text.length + OVERHEAD;

/** Members of one part of a set beyond which its text would not be kept. */
const WIDE = 4096;

/** Whether a set is one of a large map or list: two levels below the object's own fields, such as spec.items, are looked at. */
function isWide(fields: JsonObject, depth = 0): boolean {
  let left = WIDE;
  for (const key in fields) {
    if (--left < 0) return true;
    const below = fields[key];
    if (depth < 2 && isObject(below) && isWide(below, depth + 1)) return true;
  }
  return false;
}

/** A set that cannot be serialized (nested too deep, numbers out of place) is not a field set. */
function textOf(fields: JsonObject): string {
  try {
    return JSON.stringify(fields);
  } catch {
    throw new SyntaxError('fieldsV1 is nested too deep or holds what is no JSON object');
  }
}
