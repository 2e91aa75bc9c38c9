import type { Integer } from './integer.js';

/**
 * The values of expressions. An int is a number, or a bigint beyond 2^53, so that the most common arithmetic and
 * comparisons use plain numbers. Doubles and uints are boxed to distinguish them from ints.
 */
export type Value =
  | boolean
  | string
  | Integer
  | null
  | Uint
  | Double
  | Uint8Array
  | Timestamp
  | Duration
  | CelList
  | CelMap
  | TypeValue
  | Optional
  | Opaque
  | CelError;

export class Uint {
  constructor(readonly value: bigint) {}
}

export class Double {
  constructor(readonly value: number) {}
}

/** A point in time: whole seconds since the epoch, plus 0 to 999,999,999 nanoseconds. */
export class Timestamp {
  constructor(
    readonly seconds: number,
    readonly nanos: number,
    /** The offset from UTC of the text that it was read from, in seconds. It decides nothing but how the timestamp is printed. */
    readonly offset = 0,
  ) {}
}

/** A duration in nanoseconds, within 64 bits. */
export class Duration {
  constructor(readonly nanos: bigint) {}
}

/** A type as a value, as `type(x)` returns it. */
export class TypeValue {
  constructor(readonly name: string) {}
}

export class Optional {
  static readonly none = new Optional(undefined);
  constructor(readonly value: Value | undefined) {}
}

/** A failed evaluation. It travels as a value, because `&&`, `||`, `all` and `exists` can absorb it. */
export class CelError {
  constructor(readonly message: string) {}
}

/** A value of a type that a library defines. */
export abstract class Opaque {
  abstract readonly typeName: string;
  abstract equals(other: Value): boolean | CelError;
  /** The size that cost calculations use; 1 if the value has no size. */
  get cost(): number {
    return 1;
  }
  /** True if `optional.ofNonZeroValue` treats the value as zero. */
  get isZero(): boolean {
    return false;
  }
  /** The value of a field, if the value has fields and this one is set. */
  field(_name: string): Value | undefined {
    return undefined;
  }
}

/** A list. Elements may be created on access. */
export abstract class CelList {
  abstract readonly size: number;
  /** Returns the element at an index, which must be in range. */
  abstract get(index: number): Value;
  /**
   * Returns the element at an index, for loops. `spent` is the previous element if it is not needed any more: the list may
   * reuse it for the next element.
   */
  next(index: number, _spent: Value | undefined): Value {
    return this.get(index);
  }
  /** The equality of lists that define their own (sets, keyed lists). */
  equals?(other: CelList): boolean | CelError;
  /** The concatenation of lists that define their own. */
  concat?(other: CelList): Value;

  *[Symbol.iterator](): Generator<Value> {
    for (let i = 0; i < this.size; i++) yield this.get(i);
  }
}

export class ArrayList extends CelList {
  constructor(readonly items: readonly Value[]) {
    super();
  }

  get size(): number {
    return this.items.length;
  }

  get(index: number): Value {
    return this.items[index] as Value;
  }
}

/** Returns an interned copy of a string: engines look up properties by it, and compare short strings, without reading the characters. */
export const interned = (text: string): string => Object.keys({ [text]: 0 })[0] ?? text;

/** A field access in an expression. Maps may cache here how they found the field. */
export class FieldSite {
  /** The cached lookup: the shape of the map, its declaration of the field, the stored name, and the stored type. */
  shape: unknown = undefined;
  found: unknown = undefined;
  key = '';
  stored: string | undefined = undefined;
  readonly name: string;
  /** True if plain objects inherit a property of that name. */
  readonly inherited: boolean;

  constructor(name: string) {
    this.name = interned(name);
    this.inherited = this.name in Object.prototype;
  }
}

export abstract class CelMap {
  abstract readonly size: number;
  /** Returns the value of a key, undefined if the key is absent, or an error if the map cannot have such a key. */
  abstract find(key: Value): Value | undefined;
  /** Returns the value of a string key, like `find`. */
  abstract field(name: string): Value | undefined;
  abstract keys(): readonly Value[];

  /** Returns the value of a field like `field`, for frequent accesses. */
  select(site: FieldSite): Value | undefined {
    return this.field(site.name);
  }

  /** The equality of maps that define their own. */
  equals?(other: CelMap): boolean | CelError;
}

/** Returns the key for a JavaScript map, or undefined if the value cannot be a key. Equal numbers of different types have the same key. */
export function mapKey(key: Value): string | number | bigint | boolean | undefined {
  switch (typeof key) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'bigint':
      return key;
    default:
  }
  if (key instanceof Uint) return key.value <= 9007199254740991n ? Number(key.value) : key.value;
  if (key instanceof Double && Number.isInteger(key.value)) {
    return Number.isSafeInteger(key.value) ? key.value + 0 : BigInt(key.value);
  }
  return undefined;
}

interface Entry {
  readonly key: Value;
  readonly value: Value;
}

export class EntryMap extends CelMap {
  private readonly entries = new Map<string | number | bigint | boolean, Entry>();

  get size(): number {
    return this.entries.size;
  }

  /** Adds an entry. Returns false if the key already exists, and undefined if the value cannot be a key. */
  insert(key: Value, value: Value): boolean | undefined {
    const slot = mapKey(key);
    if (slot === undefined) return undefined;
    if (this.entries.has(slot)) return false;
    this.entries.set(slot, { key, value });
    return true;
  }

  /** Adds or replaces an entry. Returns false if the value cannot be a key. */
  set(key: Value, value: Value): boolean {
    const slot = mapKey(key);
    if (slot === undefined) return false;
    this.entries.set(slot, { key, value });
    return true;
  }

  find(key: Value): Value | undefined {
    const slot = mapKey(key);
    return slot === undefined ? undefined : this.entries.get(slot)?.value;
  }

  field(name: string): Value | undefined {
    return this.entries.get(name)?.value;
  }

  keys(): readonly Value[] {
    return Array.from(this.entries.values(), (entry) => entry.key);
  }
}

/** The name of the runtime type of a value. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'number':
    case 'bigint':
      return 'int';
    default:
  }
  if (value === null) return 'null_type';
  if (value instanceof CelList) return 'list';
  if (value instanceof CelMap) return 'map';
  if (value instanceof Double) return 'double';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof Optional) return 'optional_type';
  return value instanceof Opaque ? value.typeName : 'error';
}

export const NO_SUCH_OVERLOAD = new CelError('no such overload');

/** The error of a call whose arguments match no overload. */
export function noSuchOverload(name: string, args: readonly Value[]): CelError {
  return new CelError(`no such overload: ${name}(${args.map(typeName).join(', ')})`);
}
