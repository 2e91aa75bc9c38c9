import { isObject, type JsonObject } from '../../apimachinery/json.js';
import { JsonError, parseJson } from '../../apimachinery/decode-json.js';
import type { Attributes, CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import type { StoredObject } from '../../storage/interfaces.js';
import { describeUndecodable, undecodable } from '../../storage/undecodable.js';

const NO_ATTRIBUTES: Attributes = { labels: undefined, fields: {} };

/** A stored object outside of the cache, for the answer to the write that made it: nothing is kept. */
export class DetachedObject implements CachedObject {
  readonly key: string;
  readonly revision: number;
  readonly bytes: Uint8Array;
  readonly attributes = NO_ATTRIBUTES;
  readonly undecodable = false;

  constructor(stored: StoredObject) {
    this.key = stored.key;
    this.revision = stored.revision;
    this.bytes = stored.bytes;
  }

  decode(): JsonObject {
    return decodeStored(this);
  }

  render(representation: Representation): Uint8Array {
    return representation.identity === true ? this.bytes : representation.render(this);
  }
}

/** The JSON of a stored object, as a fresh tree; StorageError 'corrupt' where the bytes hold none. */
export function decodeStored(stored: Pick<StoredObject, 'bytes' | 'key' | 'revision'>): JsonObject {
  try {
    const value = parseJson(stored.bytes);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  throw undecodable([describeUndecodable(stored)]);
}
