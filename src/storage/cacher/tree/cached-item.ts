import { parseJson } from '../../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { StorageError } from '../../errors.js';
import type { LocalStates, Revision, StoredObject } from '../../interfaces.js';
import { asBuffer, copyOf } from '../../../util/bytes.js';
import { withRevision } from '../../object-bytes.js';
import { INCOMPLETE, isShownAsStored } from '../../record.js';
import { describeUndecodable, undecodable } from '../../undecodable.js';
import { DerivedSet, type Budget } from '../budget.js';
import type { Attributes, CachedObject, CachedType, Representation } from '../interfaces.js';

/** The bytes of many objects in one block, and how many of these bytes still belong to an object. */
export class BlockBuffer {
  live = 0;
  constructor(readonly bytes: Uint8Array) {}
}

/** Provides the data that the items of a type do not hold themselves. */
export interface ItemSource {
  readonly budget: Budget;
  /** The local file; undefined if dropped bytes cannot be read again synchronously. */
  readonly localStates: LocalStates | undefined;
  /** Returns the current description of the type. */
  type(): CachedType;
  /** Called if the local file no longer has a state that was stored in it: the type is then loaded from the store again. */
  onLost(): void;
}

/** Provides the attributes of packed items. */
export interface PackedAttributes {
  attributesAt(index: number, key: string): Attributes | undefined;
  attributesTextAt(index: number): string;
}

/** The properties of an item without its bytes. */
export interface ItemFacts {
  readonly key: string;
  readonly revision: Revision;
  readonly length: number;
  readonly flags: number;
}

/** An object of the cache. Its bytes are its own, a part of a block that it shares with its neighbors, or in the local file. */
export class CachedItem implements CachedObject {
  readonly key: string;
  readonly revision: Revision;
  readonly length: number;
  readonly flags: number;
  readonly unreadable: string | undefined;
  private start = 0;
  private block: BlockBuffer | undefined;
  private derived: DerivedSet | undefined;

  private constructor(
    facts: ItemFacts & { readonly unreadable?: string | undefined },
    private held: Uint8Array | undefined,
    private seen: Attributes | undefined,
    /** True if its bytes are not a JSON object. */
    readonly undecodable: boolean,
    private readonly source: ItemSource,
    private readonly bytesRead: 'kept' | 'dropped',
    private readonly origin: PackedAttributes | undefined,
    private readonly index: number,
  ) {
    this.key = facts.key;
    this.revision = facts.revision;
    this.flags = facts.flags;
    this.unreadable = facts.unreadable;
    this.length = facts.length;
  }

  /** Makes an item that holds its bytes. The selector attributes are computed on first use if they are not given. */
  static of(
    stored: StoredObject,
    seen: Attributes | undefined,
    source: ItemSource,
    undecodable: boolean = false,
  ): CachedItem {
    const { key, revision, flags, unreadable, bytes } = stored;
    return new CachedItem(
      { key, revision, flags, unreadable, length: bytes.length },
      bytes,
      seen,
      undecodable,
      source,
      'kept',
      undefined,
      0,
    );
  }

  /** Makes an item whose bytes are in the local file. An item for one user may keep them once they were read. */
  static withoutBytes(
    facts: ItemFacts,
    source: ItemSource,
    bytesRead: 'kept' | 'dropped',
    origin?: PackedAttributes,
    index = 0,
  ): CachedItem {
    return new CachedItem(facts, undefined, undefined, false, source, bytesRead, origin, index);
  }

  get attributes(): Attributes {
    return (this.seen ??=
      this.origin?.attributesAt(this.index, this.key) ?? this.source.type().attributes(this.decode()));
  }

  /** True if the selector attributes have been computed. */
  get hasAttributes(): boolean {
    return this.seen !== undefined;
  }

  /** Returns the selector attributes as text, or '' if they have not been computed yet. */
  attributesText(): string {
    return this.seen === undefined
      ? (this.origin?.attributesTextAt(this.index) ?? '')
      : attributesText(this.key, this.seen);
  }

  get bytes(): Uint8Array {
    const { held } = this;
    if (held !== undefined)
      return this.block === undefined ? held : held.subarray(this.start, this.start + this.length);
    const bytes = copyOf(this.readBytes());
    if (this.bytesRead === 'kept') this.held = bytes;
    return bytes;
  }

  withBytes<T>(read: (bytes: Uint8Array) => T): T {
    return read(this.held === undefined ? this.readBytes() : this.bytes);
  }

  /** The number of bytes that it holds in memory. */
  get heldBytes(): number {
    return this.held === undefined ? 0 : this.length;
  }

  /** Returns bytes that are valid until the next state is read. */
  private readBytes(): Uint8Array {
    const stored = this.source.localStates?.read(this.key, this.revision);
    if (stored === undefined)
      throw new StorageError('compacted', `revision ${this.revision} of ${this.key} is no longer kept`, {
        revision: this.revision,
      });
    if (stored.unreadable !== undefined && this.source.localStates?.copy !== undefined) {
      this.source.onLost();
      throw new StorageError('unavailable', `${this.key}: ${stored.unreadable}; the type is reloaded from the store`);
    }
    if (stored.unreadable !== undefined || stored.bytes.length !== this.length)
      throw undecodable([
        {
          key: this.key,
          revision: this.revision,
          reason: stored.unreadable ?? 'the stored record does not match the object',
        },
      ]);
    return stored.bytes;
  }

  /** Reports whether the local file has its bytes, so that they need not be held. */
  isEvictable(): boolean {
    if (this.undecodable || this.unreadable !== undefined) return false;
    if (this.held === undefined) return true;
    const stored = this.source.localStates?.read(this.key, this.revision);
    return stored !== undefined && stored.unreadable === undefined && stored.bytes.length === this.length;
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
    if (isShownAsStored(this, representation)) return this.bytes;
    const known = this.derived?.get(representation.id);
    if (known !== undefined) return known;
    this.derived ??= new DerivedSet(this.source.budget);
    return this.derived.put(representation.id, representation.render(this));
  }

  /** Like `render`, for a caller that keeps the bytes itself. */
  renderOnce(representation: Representation): Uint8Array {
    return this.derived?.get(representation.id) ?? representation.render(this);
  }

  /** Returns the last state as a deletion at a revision shows it. */
  deletedAt(revision: Revision): CachedItem {
    const { key, flags, unreadable } = this;
    const bytes = withRevision(this.bytes, revision);
    return CachedItem.of({ key, revision, bytes, flags, unreadable }, this.attributes, this.source, this.undecodable);
  }

  /** Recomputes the selector attributes. */
  reattribute(type: CachedType): void {
    if (!this.undecodable && this.seen !== undefined) this.seen = type.attributes(this.decode());
  }

  /** Copies the bytes into a block. */
  copyTo(target: Uint8Array, at: number): void {
    target.set(this.held === undefined ? this.readBytes() : this.bytes, at);
  }

  /** Makes a block the place of the item's bytes. */
  moveToBlock(home: BlockBuffer, start: number): void {
    if (this.block !== undefined) this.block.live -= this.length;
    this.block = home;
    this.held = home.bytes;
    this.start = start;
    home.live += this.length;
  }

  /** Gives the item its own copy of its bytes, so that it does not keep the block alive and the store may drop the state. Returns that block. */
  leaveBlock(): BlockBuffer | undefined {
    const home = this.block;
    this.held ??= copyOf(this.readBytes());
    if (home === undefined) return undefined;
    this.held = copyOf(this.bytes);
    this.start = 0;
    this.block = undefined;
    home.live -= this.length;
    return home;
  }

  isInBlock(home: BlockBuffer): boolean {
    return this.block === home;
  }

  /** Drops the derived bytes of an object that has been replaced. */
  dropDerived(): void {
    this.derived?.clear();
    this.derived = undefined;
  }
}

/** Makes a cached object, marked as undecodable if its bytes cannot be decoded. */
export function cachedItem(stored: StoredObject, source: ItemSource): CachedItem {
  const type = source.type();
  const { attributes } = stored;
  if (attributes !== undefined && hasFieldsOf(attributes, type)) return CachedItem.of(stored, attributes, source);
  const object = stored.object ?? parseObject(stored.bytes);
  if (object === undefined) return CachedItem.of(stored, attributesOfKey(stored.key), source, true);
  return CachedItem.of(stored, type.attributes(object), source);
}

/** Reports whether the attributes fit the current description of the type, whose selectable fields may have changed. */
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

interface AttributesText {
  readonly l?: Readonly<Record<string, string>>;
  readonly f?: Readonly<Record<string, string>>;
}

/** Returns the selector attributes of an object as text, without those that follow from its key. */
function attributesText(key: string, attributes: Attributes): string {
  const known = attributesOfKey(key).fields;
  const fields = Object.entries(attributes.fields).filter(([name, value]) => known[name] !== value);
  const text: AttributesText = {
    ...(attributes.labels === undefined ? {} : { l: attributes.labels }),
    ...(fields.length === 0 ? {} : { f: Object.fromEntries(fields) }),
  };
  return JSON.stringify(text);
}

export function attributesOfText(key: string, text: string): Attributes {
  const { l: labels, f } = JSON.parse(text) as AttributesText;
  const { fields } = attributesOfKey(key);
  return { labels, fields: f === undefined ? fields : { ...fields, ...f } };
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
