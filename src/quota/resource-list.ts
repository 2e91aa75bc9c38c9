import { isObject, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { compareUtf8 } from '../apimachinery/meta/meta.js';
import { Quantity } from '../apimachinery/meta/quantity.js';

/** Quantities by resource name. */
export type ResourceList = ReadonlyMap<string, Quantity>;

export const ZERO = Quantity.of(0n);
export const ONE = Quantity.of(1n);

const NONE: ResourceList = new Map();

/** Parses the JSON of a validated object. Values that are not quantities are skipped. */
export function resourceList(value: JsonValue | undefined): ResourceList {
  if (!isObject(value)) return NONE;
  const list = new Map<string, Quantity>();
  for (const name in value) {
    const amount = value[name];
    if (typeof amount === 'string') list.set(name, Quantity.parse(amount));
    else if (typeof amount === 'number') list.set(name, Quantity.parse(String(amount)));
  }
  return list;
}

export function toJson(list: ResourceList): JsonObject {
  const names = [...list.keys()].sort(compareUtf8);
  return Object.fromEntries(names.map((name) => [name, (list.get(name) ?? ZERO).toString()]));
}

export function add(a: ResourceList, b: ResourceList): ResourceList {
  const sum = new Map(a);
  for (const [name, amount] of b) sum.set(name, sum.get(name)?.add(amount) ?? amount);
  return sum;
}

/** Returns the larger quantity of each resource. */
export function greatest(a: ResourceList, b: ResourceList): ResourceList {
  const result = new Map(a);
  for (const [name, amount] of b) {
    const other = result.get(name);
    if (other === undefined || amount.compare(other) > 0) result.set(name, amount);
  }
  return result;
}

/** Returns how much `a` exceeds `b`, at least zero for each resource. */
export function excess(a: ResourceList, b: ResourceList): ResourceList {
  const result = new Map<string, Quantity>();
  for (const name of new Set([...a.keys(), ...b.keys()])) {
    const rest = (a.get(name) ?? ZERO).add((b.get(name) ?? ZERO).negate());
    result.set(name, a.has(name) && rest.sign > 0 ? rest : ZERO);
  }
  return result;
}

export function filterResources(list: ResourceList, wanted: (name: string, amount: Quantity) => boolean): ResourceList {
  return new Map([...list].filter(([name, amount]) => wanted(name, amount)));
}

export function isEqual(a: ResourceList, b: ResourceList): boolean {
  return a.size === b.size && [...a].every(([name, amount]) => b.get(name)?.compare(amount) === 0);
}

/** Formats a list as sorted `name=amount` pairs. */
export function printed(list: ResourceList): string {
  const names = [...list.keys()].sort(compareUtf8);
  return names.map((name) => `${name}=${(list.get(name) ?? ZERO).toString()}`).join(',');
}

export const printedNames = (names: Iterable<string>): string => [...names].sort(compareUtf8).join(',');
