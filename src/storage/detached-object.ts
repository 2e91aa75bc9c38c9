import { isObject, type JsonObject } from '../apimachinery/json/json.js';
import { JsonError, parseJson } from '../apimachinery/json/decode.js';
import { parseJsonSliced } from '../apimachinery/json/decode-sliced.js';
import type { Attributes, CachedObject, Representation } from './cacher/interfaces.js';
import type { StoredObject } from './interfaces.js';
import { StorageError } from './errors.js';
import { INCOMPLETE, isShownAsStored } from './record.js';
import { stepByStep } from '../scheduling/slicer.js';
import { SLICED_DECODE_BYTES } from '../scheduling/thresholds.js';
import { describeUndecodable, undecodable } from './undecodable.js';

const NO_ATTRIBUTES: Attributes = { labels: undefined, fields: {} };

/** A stored object outside the watch cache, for the response to the write that produced it. It caches nothing. */
export class DetachedObject implements CachedObject {
  readonly key: string;
  readonly revision: number;
  readonly bytes: Uint8Array;
  readonly flags: number;
  readonly unreadable: string | undefined;
  readonly attributes = NO_ATTRIBUTES;
  readonly undecodable = false;

  /** `tree`, if given, is what the first call to decode() returns. */
  constructor(
    stored: StoredObject,
    private tree?: JsonObject,
  ) {
    this.key = stored.key;
    this.revision = stored.revision;
    this.bytes = stored.bytes;
    this.flags = stored.flags;
    this.unreadable = stored.unreadable;
  }

  get incomplete(): boolean {
    return (this.flags & INCOMPLETE) !== 0;
  }

  decode(): JsonObject {
    const { tree } = this;
    this.tree = undefined;
    return tree ?? decodeStored(this);
  }

  render(representation: Representation): Uint8Array {
    return isShownAsStored(this, representation) ? this.bytes : representation.render(this);
  }
}

/** Parses a stored object into a new tree. Throws StorageError 'corrupt' if the bytes are not a JSON object. */
export function decodeStored(stored: Pick<StoredObject, 'bytes' | 'key' | 'revision' | 'unreadable'>): JsonObject {
  try {
    const value = parseJson(stored.bytes);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  throw undecodable([describeUndecodable(stored)]);
}

/** Decodes a stored object; undefined if it cannot be decoded. */
export function decodeIfSound(stored: StoredObject): JsonObject | undefined {
  try {
    return decodeStored(stored);
  } catch (error) {
    if (error instanceof StorageError && error.code === 'corrupt') return undefined;
    throw error;
  }
}

/** Decodes a large object in slices. Returns undefined if the object is small enough to be decoded on demand. */
export function decodedSliced(stored: StoredObject): Promise<DetachedObject> | undefined {
  return stored.bytes.length < SLICED_DECODE_BYTES ? undefined : decodeSliced(stored);
}

async function decodeSliced(stored: StoredObject): Promise<DetachedObject> {
  try {
    const value = await stepByStep(parseJsonSliced(stored.bytes));
    return new DetachedObject(stored, isObject(value) ? value : undefined);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    // The caller gets the error when it decodes the object.
    return new DetachedObject(stored);
  }
}
