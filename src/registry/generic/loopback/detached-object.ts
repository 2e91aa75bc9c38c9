import { isObject, type JsonObject } from '../../../apimachinery/json/json.js';
import { JsonError, parseJson } from '../../../apimachinery/json/decode.js';
import { parseJsonSliced } from '../../../apimachinery/json/decode-sliced.js';
import type { Attributes, CachedObject, Representation } from '../../../storage/cacher/interfaces.js';
import type { StoredObject } from '../../../storage/interfaces.js';
import { INCOMPLETE } from '../../../storage/record.js';
import { stepByStep } from '../../../scheduling/slicer.js';
import { SLICED_DECODE_BYTES } from '../../../scheduling/thresholds.js';
import { describeUndecodable, undecodable } from '../../../storage/undecodable.js';

const NO_ATTRIBUTES: Attributes = { labels: undefined, fields: {} };

/** A stored object outside of the cache, for the answer to the write that made it: nothing is kept. */
export class DetachedObject implements CachedObject {
  readonly key: string;
  readonly revision: number;
  readonly bytes: Uint8Array;
  readonly flags: number;
  readonly unreadable: string | undefined;
  readonly attributes = NO_ATTRIBUTES;
  readonly undecodable = false;

  /** `tree`: what the first decoding yields. */
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
    return representation.identity === true && !this.incomplete ? this.bytes : representation.render(this);
  }
}

/** The JSON of a stored object, as a fresh tree; StorageError 'corrupt' where the bytes hold none. */
export function decodeStored(stored: Pick<StoredObject, 'bytes' | 'key' | 'revision' | 'unreadable'>): JsonObject {
  try {
    const value = parseJson(stored.bytes);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  throw undecodable([describeUndecodable(stored)]);
}

/** The object with its tree decoded already, in slices; undefined: it is small enough to be decoded when that is asked for. */
export function decodedSliced(stored: StoredObject): Promise<DetachedObject> | undefined {
  return stored.bytes.length < SLICED_DECODE_BYTES ? undefined : decodeSliced(stored);
}

async function decodeSliced(stored: StoredObject): Promise<DetachedObject> {
  try {
    const value = await stepByStep(parseJsonSliced(stored.bytes));
    return new DetachedObject(stored, isObject(value) ? value : undefined);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    // The caller that decodes it sees the error.
    return new DetachedObject(stored);
  }
}
