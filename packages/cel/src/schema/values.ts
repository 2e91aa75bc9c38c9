import { noSuchKey } from '../values/access.js';
import { equal } from '../values/operators.js';
import { keysOf, chargeWork } from '../work.js';
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  type FieldSite,
  NO_SUCH_OVERLOAD,
  Timestamp,
  Uint,
  type Value,
} from '../values/value.js';
import { type Adapter, equalJson, isJsonMap, type Json, type JsonMap } from './json.js';

export interface Property {
  /** The JSON type of stored values that expressions use as they are. Other values go through `adapt`. */
  readonly stored: 'string' | 'integer' | 'boolean' | undefined;
  /** The name in the stored object. */
  readonly key: string;
  /** The name in expressions. */
  readonly identifier: string;
  readonly adapt: Adapter;
}

/** The declared properties of an object. */
export interface Shape {
  /** Properties by every name that expressions may use. */
  readonly byName: ReadonlyMap<string, Property>;
  readonly byKey: ReadonlyMap<string, Property>;
}

/** Units of work per element when sets and keyed lists are compared or joined. */
const PER_MEMBER = 4;
const PER_KEYED = 16;

function remember(site: FieldSite, shape: Shape): void {
  const property = shape.byName.get(site.name);
  site.shape = shape;
  site.found = property;
  site.key = property?.key ?? '';
  site.stored = property?.stored;
}

/** A stored object with declared properties. Null and undeclared properties count as absent. */
export class SchemaObject extends CelMap {
  private count = -1;

  constructor(
    public json: JsonMap,
    private readonly shape: Shape,
  ) {
    super();
  }

  /** Reuses this value for another object of the same schema. */
  rebind(json: JsonMap): this {
    this.json = json;
    this.count = -1;
    return this;
  }

  get size(): number {
    if (this.count < 0) this.count = keysOf(this.json).length;
    return this.count;
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' ? this.field(key) : NO_SUCH_OVERLOAD;
  }

  field(name: string): Value | undefined {
    const property = this.shape.byName.get(name);
    if (property === undefined) return undefined;
    const json = this.json[property.key];
    // A function comes from Object.prototype, not from the stored object.
    if (json === undefined || json === null || typeof json === 'function') return undefined;
    return property.adapt(json);
  }

  override select(site: FieldSite): Value | undefined {
    if (site.shape !== this.shape) remember(site, this.shape);
    const property = site.found as Property | undefined;
    if (property === undefined) return undefined;
    const json = this.json[site.key];
    if (typeof json === 'number') {
      if (site.stored === 'integer' && Number.isSafeInteger(json)) return json + 0;
    } else if (typeof json === 'string') {
      if (site.stored === 'string') return json;
    } else if (json === undefined || json === null || typeof json === 'function') {
      return undefined;
    }
    return property.adapt(json);
  }

  keys(): readonly Value[] {
    const keys: Value[] = [];
    for (const key in this.json) {
      const property = this.shape.byKey.get(key);
      if (property !== undefined) keys.push(property.identifier);
    }
    return keys;
  }

  override equals(other: CelMap): boolean | CelError {
    if (this.size !== other.size) return false;
    for (const key in this.json) {
      const property = this.shape.byKey.get(key);
      if (property === undefined) {
        if (!(other instanceof SchemaObject) && !(other instanceof SchemaMap)) return NO_SUCH_OVERLOAD;
        const theirs = other.json[key];
        if (theirs !== undefined && !equalJson(this.json[key], theirs)) return false;
        continue;
      }
      const mine = this.field(property.identifier);
      // A map that is not a SchemaObject has only the stored names.
      const theirs = other.field(other instanceof SchemaObject ? property.identifier : key);
      if (mine === undefined || theirs === undefined) {
        if (mine !== theirs) return false;
        continue;
      }
      const same = equal(mine, theirs);
      if (same !== true) return same;
    }
    return true;
  }
}

/** A stored object whose values all have one type. */
export class SchemaMap extends CelMap {
  private count = -1;

  constructor(
    readonly json: JsonMap,
    private readonly adapt: Adapter,
  ) {
    super();
  }

  get size(): number {
    if (this.count < 0) this.count = keysOf(this.json).length;
    return this.count;
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' ? this.field(key) : NO_SUCH_OVERLOAD;
  }

  field(name: string): Value | undefined {
    const json = Object.hasOwn(this.json, name) ? this.json[name] : undefined;
    return json === undefined ? undefined : this.adapt(json);
  }

  override select(site: FieldSite): Value | undefined {
    if (site.inherited) return this.field(site.name);
    const json = this.json[site.name];
    return json === undefined ? undefined : this.adapt(json);
  }

  keys(): readonly Value[] {
    return keysOf(this.json);
  }

  override equals(other: CelMap): boolean | CelError {
    if (this.size !== other.size) return false;
    chargeWork(this.size * PER_MEMBER);
    for (const key in this.json) {
      const theirs = other.field(key);
      if (theirs === undefined) return false;
      const same = equal(this.field(key) ?? noSuchKey(key), theirs);
      if (same !== true) return same;
    }
    return true;
  }
}

/** A stored list. */
export class SchemaList extends CelList {
  constructor(
    readonly json: readonly Json[],
    protected readonly adapt: Adapter,
  ) {
    super();
  }

  get size(): number {
    return this.json.length;
  }

  get(index: number): Value {
    return this.adapt(this.json[index]);
  }

  override next(index: number, spent: Value | undefined): Value {
    const json = this.json[index];
    // All objects of the list have the same schema, so that the previous value can be reused.
    return spent instanceof SchemaObject && isJsonMap(json) ? spent.rebind(json) : this.adapt(json);
  }

  override equals(other: CelList): boolean | CelError {
    if (this.size !== other.size) return false;
    chargeWork(this.size * PER_MEMBER);
    for (let i = 0; i < this.size; i++) {
      const same = equal(this.get(i), other.get(i));
      if (same !== true) return same;
    }
    return true;
  }
}

const NO_SCALARS = new CelError('listSet operations are only supported on lists of scalar values');

/** Returns what identifies an element of a set: equal scalars of one type have equal keys. Elements that are no scalars are an error. */
function setKey(item: Value): unknown {
  if (item instanceof CelList || item instanceof CelMap) return NO_SCALARS;
  if (typeof item === 'string') return `string ${item}`;
  // A NaN equals nothing.
  if (item instanceof Double) return Number.isNaN(item.value) ? Symbol('NaN') : `double ${item.value + 0}`;
  if (item instanceof Timestamp) return `timestamp ${item.seconds} ${item.nanos}`;
  if (item instanceof Duration) return `duration ${item.nanos}`;
  if (item instanceof Uint) return `uint ${item.value}`;
  if (item instanceof Uint8Array) return `bytes ${Buffer.from(item).toString('hex')}`;
  return item;
}

/** Returns the keys of the elements, or an error if one of them is no scalar. */
function setKeys(list: Iterable<Value>): Set<unknown> | CelError {
  const keys = new Set<unknown>();
  for (const item of list) {
    const key = setKey(item);
    if (key instanceof CelError) return key;
    keys.add(key);
  }
  return keys;
}

function sameMembers(mine: CelList, other: CelList): boolean | CelError {
  if (mine.size !== other.size) return false;
  chargeWork(mine.size * PER_MEMBER);
  const keys = setKeys(mine);
  if (keys instanceof CelError) return keys;
  const seen = new Set<unknown>();
  for (const item of other) {
    const key = setKey(item);
    if (key instanceof CelError) return key;
    if (!keys.has(key)) return false;
    seen.add(key);
  }
  return seen.size === keys.size;
}

function union(mine: CelList, other: CelList): Value {
  chargeWork((mine.size + other.size) * PER_MEMBER);
  const items = [...mine];
  const keys = setKeys(items);
  if (keys instanceof CelError) return keys;
  for (const item of other) {
    const key = setKey(item);
    if (key instanceof CelError) return key;
    if (keys.has(key)) continue;
    keys.add(key);
    items.push(item);
  }
  return new ValueSet(items);
}

/** A list of type set: the order is irrelevant, and the elements are unique scalars. */
export class SchemaSet extends SchemaList {
  override equals(other: CelList): boolean | CelError {
    return sameMembers(this, other);
  }

  override concat(other: CelList): Value {
    return union(this, other);
  }
}

/** The union of two sets. */
class ValueSet extends ArrayList {
  override equals(other: CelList): boolean | CelError {
    return sameMembers(this, other);
  }

  override concat(other: CelList): Value {
    return union(this, other);
  }
}

/** Returns the key of an element of a keyed list. */
type KeyOf = (item: Value) => string;

function keyReader(keys: readonly string[]): KeyOf {
  return (item) => {
    if (!(item instanceof CelMap)) return '';
    return JSON.stringify(
      keys.map((key) => {
        const value = item.field(key);
        return typeof value === 'bigint' ? [value.toString()] : value === undefined ? null : value;
      }),
    );
  };
}

function equalKeyed(a: CelList, b: CelList, keyOf: KeyOf): boolean | CelError {
  if (a.size !== b.size) return false;
  chargeWork(a.size * PER_KEYED);
  const mine = new Map([...a].map((item) => [keyOf(item), item]));
  const seen = new Set<string>();
  for (const item of b) {
    const key = keyOf(item);
    const found = mine.get(key);
    if (found === undefined) return false;
    const same = equal(found, item);
    if (same !== true) return same;
    seen.add(key);
  }
  return seen.size === mine.size;
}

/** Merges two keyed lists: elements of `b` replace those of `a` with the same key; the others are appended. */
function mergeKeyed(a: CelList, b: CelList, keyOf: KeyOf): Value {
  chargeWork((a.size + b.size) * PER_KEYED);
  const items = [...a];
  const places = new Map(items.map((item, i) => [keyOf(item), i]));
  for (const item of b) {
    const place = places.get(keyOf(item));
    if (place === undefined) items.push(item);
    else items[place] = item;
  }
  return new KeyedValues(items, keyOf);
}

/** A list of type map: its elements are objects with a key. */
export class SchemaKeyedList extends SchemaList {
  private readonly keyOf: KeyOf;

  constructor(json: readonly Json[], adapt: Adapter, keys: readonly string[]) {
    super(json, adapt);
    this.keyOf = keyReader(keys);
  }

  override equals(other: CelList): boolean | CelError {
    return equalKeyed(this, other, this.keyOf);
  }

  override concat(other: CelList): Value {
    return mergeKeyed(this, other, this.keyOf);
  }
}

class KeyedValues extends ArrayList {
  constructor(
    items: readonly Value[],
    private readonly keyOf: KeyOf,
  ) {
    super(items);
  }

  override equals(other: CelList): boolean | CelError {
    return equalKeyed(this, other, this.keyOf);
  }

  override concat(other: CelList): Value {
    return mergeKeyed(this, other, this.keyOf);
  }
}
