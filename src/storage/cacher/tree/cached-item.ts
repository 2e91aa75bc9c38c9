import { parseJson } from '../../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { Revision, StoredObject } from '../../interfaces.js';
import { asBuffer, copyOf, withRevision } from '../../object-bytes.js';
import { INCOMPLETE } from '../../record.js';
import { describeUndecodable, undecodable } from '../../undecodable.js';
import { DerivedSet, type Budget } from '../budget.js';
import type { Attributes, CachedObject, CachedType, Representation } from '../interfaces.js';

/** Bytes of many objects in one piece, and how many of them still belong to an object. */
export class Home {
  live = 0;
  constructor(readonly bytes: Uint8Array) {}
}

/** An object of the cache. Its bytes are its own, or a part of a block that it shares with its neighbours. */
export class CachedItem implements CachedObject {
  readonly key: string;
  readonly revision: Revision;
  readonly length: number;
  readonly flags: number;
  readonly unreadable: string | undefined;
  private held: Uint8Array;
  private start = 0;
  private home: Home | undefined;
  private derived: DerivedSet | undefined;

  constructor(
    stored: StoredObject,
    private seen: Attributes,
    /** Its bytes are no JSON object. */
    readonly undecodable: boolean,
    private readonly budget: Budget,
  ) {
    this.key = stored.key;
    this.revision = stored.revision;
    this.flags = stored.flags;
    this.unreadable = stored.unreadable;
    this.held = stored.bytes;
    this.length = stored.bytes.length;
  }

  get attributes(): Attributes {
    return this.seen;
  }

  get bytes(): Uint8Array {
    return this.home === undefined ? this.held : this.held.subarray(this.start, this.start + this.length);
  }

  get incomplete(): boolean {
    return (this.flags & INCOMPLETE) !== 0;
  }

  decode(): JsonObject {
    const object = this.undecodable ? undefined : parseObject(this.bytes);
    if (object === undefined) throw undecodable([describeUndecodable(this)]);
    return object;
  }

  render(representation: Representation): Uint8Array {
    if (representation.identity === true && !this.incomplete) return this.bytes;
    const known = this.derived?.get(representation.id);
    if (known !== undefined) return known;
    this.derived ??= new DerivedSet(this.budget);
    return this.derived.put(representation.id, representation.render(this));
  }

  /** The same, for a user that keeps the bytes itself. */
  renderOnce(representation: Representation): Uint8Array {
    return this.derived?.get(representation.id) ?? representation.render(this);
  }

  /** The last state, as the deletion at a revision shows it. */
  deletedAt(revision: Revision): CachedItem {
    return new CachedItem(
      {
        key: this.key,
        revision,
        bytes: withRevision(this.bytes, revision),
        flags: this.flags,
        unreadable: this.unreadable,
      },
      this.seen,
      this.undecodable,
      this.budget,
    );
  }

  /** Makes anew what selectors see. */
  reattribute(type: CachedType): void {
    if (!this.undecodable) this.seen = type.attributes(this.decode());
  }

  /** Copies the bytes into a block. */
  copyTo(target: Uint8Array, at: number): void {
    target.set(this.home === undefined ? this.held : this.held.subarray(this.start, this.start + this.length), at);
  }

  /** From now on its bytes are those in the block. */
  settle(home: Home, start: number): void {
    if (this.home !== undefined) this.home.live -= this.length;
    this.home = home;
    this.held = home.bytes;
    this.start = start;
    home.live += this.length;
  }

  /** Takes a copy of its own, so that the block isn't kept for it. */
  leave(): Home | undefined {
    const home = this.home;
    if (home === undefined) return undefined;
    this.held = copyOf(this.bytes);
    this.start = 0;
    this.home = undefined;
    home.live -= this.length;
    return home;
  }

  livesIn(home: Home): boolean {
    return this.home === home;
  }

  /** Drops what was derived: the object has been superseded. */
  dropDerived(): void {
    this.derived?.clear();
    this.derived = undefined;
  }
}

/** Makes a cached object; bytes that cannot be decoded give one that says so. */
export function cachedItem(stored: StoredObject, type: CachedType, budget: Budget): CachedItem {
  const { attributes } = stored;
  if (attributes !== undefined && hasFieldsOf(attributes, type))
    return new CachedItem(stored, attributes, false, budget);
  const object = stored.object ?? parseObject(stored.bytes);
  if (object === undefined) return new CachedItem(stored, attributesOfKey(stored.key), true, budget);
  return new CachedItem(stored, type.attributes(object), false, budget);
}

/** Whether the attributes are those of the type as it is now, whose selectable fields may have changed. */
function hasFieldsOf({ fields }: Attributes, type: CachedType): boolean {
  const wanted = type.attributes({}).fields;
  for (const name in wanted) if (!Object.hasOwn(fields, name)) return false;
  return true;
}

function attributesOfKey(key: string): Attributes {
  const slash = key.indexOf('/');
  const fields: Record<string, string> = { 'metadata.name': key.slice(slash + 1) };
  if (slash >= 0) fields['metadata.namespace'] = key.slice(0, slash);
  return { labels: undefined, fields };
}

/** Shorter integers are exact in JavaScript's own parser, which is several times faster. */
const LONG_INTEGER = /\d{16}/;

function parseObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const text = asBuffer(bytes).toString();
    const value = LONG_INTEGER.test(text) ? parseJson(text) : (JSON.parse(text) as JsonValue);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
