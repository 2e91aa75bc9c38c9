import { isObject, type JsonObject } from '../../../apimachinery/json/json.js';
import { JsonError, parseJson } from '../../../apimachinery/json/decode.js';
import { parseJsonInSteps } from '../../../apimachinery/json/decode-in-steps.js';
import type { Attributes, CachedObject, Representation } from '../../../storage/cacher/interfaces.js';
import type { StoredObject } from '../../../storage/interfaces.js';
import { INCOMPLETE } from '../../../storage/record.js';
import { nextTurn } from '../../../scheduling/slicing.js';
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

/** From this size on (bytes) decoding an object takes several turns of the event loop, where that can be waited for. */
const LARGE = 256 << 10;

/** The object with its tree decoded already; undefined: it is small enough to be decoded when that is asked for. */
export function decodedInTurns(stored: StoredObject): Promise<DetachedObject> | undefined {
  return stored.bytes.length < LARGE ? undefined : decodeInTurns(stored);
}

async function decodeInTurns(stored: StoredObject): Promise<DetachedObject> {
  const steps = parseJsonInSteps(stored.bytes);
  try {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return new DetachedObject(stored, isObject(step.value) ? step.value : undefined);
      await nextTurn();
    }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    // Who decodes it gets to know.
    return new DetachedObject(stored);
  }
}
