import { isObject, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { compareUtf8 } from '../apimachinery/meta/meta.js';
import { Quantity } from '../apimachinery/meta/quantity.js';

/** Amounts by the names of resources. */
export type ResourceList = ReadonlyMap<string, Quantity>;

export const ZERO = Quantity.of(0n);
export const ONE = Quantity.of(1n);

const NONE: ResourceList = new Map();

/** Reads the JSON of a validated object; anything but quantities is left out. */
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

/** The greater of both for each resource. */
export function greatest(a: ResourceList, b: ResourceList): ResourceList {
  const result = new Map(a);
  for (const [name, amount] of b) {
    const other = result.get(name);
    if (other === undefined || amount.compare(other) > 0) result.set(name, amount);
  }
  return result;
}

/** What `a` is more than `b`: nothing is less than zero. */
export function excess(a: ResourceList, b: ResourceList): ResourceList {
  const result = new Map<string, Quantity>();
  for (const name of new Set([...a.keys(), ...b.keys()])) {
    const rest = (a.get(name) ?? ZERO).add((b.get(name) ?? ZERO).negate());
    result.set(name, a.has(name) && rest.sign > 0 ? rest : ZERO);
  }
  return result;
}

export function only(list: ResourceList, wanted: (name: string, amount: Quantity) => boolean): ResourceList {
  return new Map([...list].filter(([name, amount]) => wanted(name, amount)));
}

export function isEqual(a: ResourceList, b: ResourceList): boolean {
  return a.size === b.size && [...a].every(([name, amount]) => b.get(name)?.compare(amount) === 0);
}

/** `name=amount` pairs, sorted. */
export function printed(list: ResourceList): string {
  const names = [...list.keys()].sort(compareUtf8);
  return names.map((name) => `${name}=${(list.get(name) ?? ZERO).toString()}`).join(',');
}

export const printedNames = (names: Iterable<string>): string => [...names].sort(compareUtf8).join(',');
