import type { Integer } from './integer.js';

/**
 * Values of expressions. An int is a number (or a bigint beyond 2^53), so that the commonest arithmetic and
 * comparisons run on plain numbers; doubles and uints are boxed, to differ from ints.
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

/** A moment: whole seconds since the epoch and the nanoseconds on top, 0 to 999,999,999. */
export class Timestamp {
  constructor(
    readonly seconds: number,
    readonly nanos: number,
  ) {}
}

/** A length of time in nanoseconds, within 64 bits. */
export class Duration {
  constructor(readonly nanos: bigint) {}
}

/** The name of a type, as `type(x)` gives it. */
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

/** A value of a library's own type. */
export abstract class Opaque {
  abstract readonly typeName: string;
  abstract equals(other: Value): boolean | CelError;
  /** What `size()`-based costs count; 1 where a value has no size. */
  get cost(): number {
    return 1;
  }
  /** What optional.ofNonZeroValue asks. */
  get isZero(): boolean {
    return false;
  }
}

/** A list. Elements may be made when they are asked for. */
export abstract class CelList {
  abstract readonly size: number;
  /** The element at an index within the size. */
  abstract get(index: number): Value;
  /**
   * The same for loops: the element before, `spent`, is not needed any more (undefined: it is, or there is none), so that
   * it can be made into this one.
   */
  next(index: number, _spent: Value | undefined): Value {
    return this.get(index);
  }
  /** Equality of its own, if the list has it (sets, keyed lists). */
  equals?(other: CelList): boolean | CelError;
  /** Concatenation of its own. */
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

/** The same text in the form in which engines look properties up, and tell short texts apart, without reading them. */
export const interned = (text: string): string => Object.keys({ [text]: 0 })[0] ?? text;

/** A place in an expression that reads a field; maps may keep there how they have found it. */
export class FieldSite {
  /** What the fields of the map were found by; the field itself, its name there, and how its values are stored. */
  shape: unknown = undefined;
  found: unknown = undefined;
  key = '';
  stored: string | undefined = undefined;
  readonly name: string;
  /** Whether plain objects have something of that name that is not their own. */
  readonly inherited: boolean;

  constructor(name: string) {
    this.name = interned(name);
    this.inherited = this.name in Object.prototype;
  }
}

export abstract class CelMap {
  abstract readonly size: number;
  /** The value of a key; undefined: absent. An error for a key that such a map cannot have. */
  abstract find(key: Value): Value | undefined;
  /** The same for a string key. */
  abstract field(name: string): Value | undefined;
  abstract keys(): readonly Value[];

  /** The same as `field`, for a place that is asked often. */
  select(site: FieldSite): Value | undefined {
    return this.field(site.name);
  }

  /** Equality of its own, if the map has it. */
  equals?(other: CelMap): boolean | CelError;
}

/** Maps keep numbers of all types apart from other keys, and equal numbers together. */
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

  /** Adds an entry; false if the key is there already, undefined if it cannot be a key. */
  insert(key: Value, value: Value): boolean | undefined {
    const slot = mapKey(key);
    if (slot === undefined) return undefined;
    if (this.entries.has(slot)) return false;
    this.entries.set(slot, { key, value });
    return true;
  }

  /** Adds or replaces an entry; false if the key cannot be one. */
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

  copy(): EntryMap {
    const copy = new EntryMap();
    for (const [slot, entry] of this.entries) copy.entries.set(slot, entry);
    return copy;
  }
}

/** The name of a value's type at run time. */
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

/** The error of a call whose arguments no overload takes. */
export function noSuchOverload(name: string, args: readonly Value[]): CelError {
  return new CelError(`no such overload: ${name}(${args.map(typeName).join(', ')})`);
}
