import {
  deepEqual,
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  stringsOf,
} from '../../apimachinery/json/json.js';

const isScalar = (value: JsonValue | undefined): value is string | number | bigint | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';

function keysOf(schema: JsonObject): readonly string[] {
  return stringsOf(schema['x-kubernetes-list-map-keys']);
}

/** Returns the values of the key fields as one text; undefined if one is missing or not a scalar. */
function identity(item: JsonValue | undefined, keys: readonly string[]): string | undefined {
  if (!isObject(item)) return undefined;
  let text = '';
  for (const key of keys) {
    const value = item[key];
    if (!isScalar(value)) return undefined;
    text += `\0${typeof value === 'string' ? 's' : 'v'}${String(value)}`;
  }
  return text;
}

/** Finds the elements of an old keyed list by the key of a new element. */
export class KeyedItems {
  private index: Map<string, JsonValue> | undefined;
  private readonly keys: readonly string[];
  private readonly keyed: boolean;

  constructor(
    schema: JsonObject,
    private readonly items: readonly JsonValue[],
  ) {
    this.keys = keysOf(schema);
    this.keyed = schema['x-kubernetes-list-type'] === 'map' && this.keys.length > 0 && items.length > 0;
  }

  find(item: JsonValue): JsonValue | undefined {
    if (!this.keyed) return undefined;
    const wanted = identity(item, this.keys);
    if (wanted === undefined) return undefined;
    this.index ??= this.build();
    return this.index.get(wanted);
  }

  private build(): Map<string, JsonValue> {
    const index = new Map<string, JsonValue>();
    for (const item of this.items) {
      const key = identity(item, this.keys);
      if (key !== undefined && !index.has(key)) index.set(key, item);
    }
    return index;
  }
}

/** Pairs a part of the new object with the same part of the old one, and compares them once. */
export class Correlation {
  private equality: boolean | undefined;
  private children: Map<string | number, Correlation> | undefined;
  private keyedItems: KeyedItems | undefined;

  constructor(
    private readonly current: JsonValue | undefined,
    private readonly old: JsonValue | undefined,
    private readonly schema: JsonObject,
  ) {}

  /** True if the part is unchanged. Parts that the schema does not describe count as changed. */
  get unchanged(): boolean {
    this.equality ??= this.compare();
    return this.equality;
  }

  private compare(): boolean {
    const { current, old } = this;
    if (current === null || current === undefined || old === null || old === undefined) {
      return (current ?? null) === (old ?? null);
    }
    if (Array.isArray(current)) return Array.isArray(old) && this.compareLists(current, old);
    if (isObject(current)) return isObject(old) && this.compareMaps(current, old);
    return !Array.isArray(old) && !isObject(old) && deepEqual(current, old);
  }

  private compareLists(current: readonly JsonValue[], old: JsonValue[]): boolean {
    if (current.length !== old.length) return false;
    for (let i = 0; i < current.length; i++) {
      const child = this.index(i);
      if (child === undefined) return this.keyedItems === undefined && deepEqual([...current], old);
      if (!child.unchanged) return false;
    }
    return true;
  }

  private compareMaps(current: JsonObject, old: JsonObject): boolean {
    const keys = Object.keys(current);
    return keys.length === Object.keys(old).length && keys.every((key) => this.key(key)?.unchanged === true);
  }

  /** Returns the correlation of a member; undefined if it is new, or unknown to the schema. */
  key(name: string): Correlation | undefined {
    const known = this.children?.get(name);
    if (known !== undefined) return known;
    if (!isObject(this.current) || !isObject(this.old)) return undefined;
    const [current, old] = [this.current[name], this.old[name]];
    if (current === undefined || old === undefined) return undefined;
    const properties = objectAt(this.schema, 'properties');
    const property =
      properties !== undefined && Object.hasOwn(properties, name) ? objectAt(properties, name) : undefined;
    const schema = property ?? objectAt(this.schema, 'additionalProperties');
    return schema === undefined ? undefined : this.keep(name, new Correlation(current, old, schema));
  }

  /** Returns the correlation of an element of a keyed list; undefined if the old list has none with its key. */
  index(at: number): Correlation | undefined {
    const known = this.children?.get(at);
    if (known !== undefined) return known;
    const items = objectAt(this.schema, 'items');
    if (!Array.isArray(this.current) || !Array.isArray(this.old) || items === undefined) return undefined;
    const current = this.current[at];
    if (current === undefined || this.schema['x-kubernetes-list-type'] !== 'map') return undefined;
    this.keyedItems ??= new KeyedItems(this.schema, this.old);
    const old = this.keyedItems.find(current);
    return old === undefined || old === null ? undefined : this.keep(at, new Correlation(current, old, items));
  }

  private keep(key: string | number, child: Correlation): Correlation {
    this.children ??= new Map();
    this.children.set(key, child);
    return child;
  }
}

/** The position of a walk: the correlation of the current part, else that of the nearest ancestor that has one. */
export class Ratchet {
  static readonly none = new Ratchet(undefined, undefined);

  constructor(
    private readonly current: Correlation | undefined,
    private readonly parent: Correlation | undefined,
  ) {}

  /** True if the value is unchanged, so that an error of a rule here is ratcheted. */
  get unchanged(): boolean {
    return (this.current ?? this.parent)?.unchanged ?? false;
  }

  key(name: string): Ratchet {
    if (this.current === undefined) return this;
    if (this.parent === undefined && (name === 'apiVersion' || name === 'kind')) return Ratchet.none;
    return new Ratchet(this.current.key(name), this.current);
  }

  index(at: number): Ratchet {
    return this.current === undefined ? this : new Ratchet(this.current.index(at), this.current);
  }

  /** The position for rules inside allOf. */
  get above(): Ratchet {
    return new Ratchet(undefined, this.parent);
  }
}
