import { isObject, type JsonObject } from '../apimachinery/json/json.js';
import { LruCache } from '../util/caches/lru-cache.js';
import { type ReadFields, readFieldsV1 } from '../structured-merge-diff/fieldpath/serialize.js';

/** The cost of a text in addition to its characters. The decoded set is a few times as large as the text. */
const OVERHEAD = 256;

/**
 * Caches decoded field sets by their JSON text. Objects of one type that a controller writes share a few texts, and
 * every write of an object repeats its own. A hit returns the same set object, so other caches can be keyed by its
 * identity. Evicts the least recently used sets.
 */
export class FieldSetCache {
  private readonly byText: LruCache<string, ReadFields>;
  private hitCount = 0;
  private missCount = 0;

  /** `maxCharacters` limits all texts together. A text that takes more than a 64th of it is not cached. */
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

  /** Counters for metrics. */
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
