import { equal } from '../evaluator/operators.js';
import { keysOf, work } from '../work.js';
import type { FieldSite, Value } from '../values/value.js';
import { CelError, CelList, CelMap, Double, Opaque, mapKey } from '../values/value.js';

/** JSON of any shape. Whole numbers are ints, others doubles. */
export type Json = unknown;

export type JsonMap = Record<string, Json>;

export const isJsonMap = (value: Json): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Equality of plain JSON; the order of keys is immaterial. */
export function equalJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  work(1);
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equalJson(a[i], b[i])) return false;
    return true;
  }
  if (!isJsonMap(a) || !isJsonMap(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]))
  );
}

class JsonList extends CelList {
  constructor(readonly items: readonly Json[]) {
    super();
  }

  get size(): number {
    return this.items.length;
  }

  get(index: number): Value {
    return fromJson(this.items[index]);
  }

  override next(index: number, spent: Value | undefined): Value {
    const json = this.items[index];
    return spent instanceof JsonObject && isJsonMap(json) && !isValue(json) ? spent.become(json) : fromJson(json);
  }
}

class JsonObject extends CelMap {
  private count = -1;

  constructor(private members: JsonMap) {
    super();
  }

  /** Makes it the value of another object. */
  become(members: JsonMap): this {
    this.members = members;
    this.count = -1;
    return this;
  }

  get size(): number {
    if (this.count < 0) this.count = keysOf(this.members).length;
    return this.count;
  }

  find(key: Value): Value | undefined {
    const slot = mapKey(key);
    return typeof slot === 'string' ? this.field(slot) : undefined;
  }

  field(name: string): Value | undefined {
    return Object.hasOwn(this.members, name) ? fromJson(this.members[name]) : undefined;
  }

  override select(site: FieldSite): Value | undefined {
    const json = site.inherited ? undefined : this.members[site.name];
    if (typeof json === 'string') return json;
    if (typeof json === 'number' && Number.isSafeInteger(json)) return json + 0;
    return json === undefined ? this.field(site.name) : fromJson(json);
  }

  keys(): readonly Value[] {
    return keysOf(this.members);
  }
}

const isValue = (json: object): json is CelMap | CelList | Opaque | CelError =>
  json instanceof CelMap || json instanceof CelList || json instanceof Opaque || json instanceof CelError;

/** JSON as a value, its parts made when they are asked for. Values of the engine pass through. */
export function fromJson(json: Json): Value {
  switch (typeof json) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return json;
    case 'number':
      return Number.isSafeInteger(json) ? json + 0 : new Double(json);
    case 'undefined':
      return null;
    default:
  }
  if (json === null) return null;
  if (Array.isArray(json)) return new JsonList(json);
  if (typeof json === 'object' && isValue(json)) return json;
  return isJsonMap(json) ? new JsonObject(json) : new CelError(`unsupported conversion to ref.Val: (${typeof json})`);
}

/** A value that the schema preserves without knowing its type: it can be compared, nothing else. */
export class Preserved extends Opaque {
  readonly typeName = 'unknown';

  constructor(readonly json: Json) {
    super();
  }

  equals(other: Value): boolean {
    return other instanceof Preserved ? equalJson(this.json, other.json) : equal(fromJson(this.json), other) === true;
  }
}
