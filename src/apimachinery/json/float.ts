import { MIN_INT64 } from '../../go/int64.js';
import { deepCopy, FACTS, Float, type JsonObject, type JsonValue } from './json.js';
import type { FloatLiterals } from './parser.js';

type Path = readonly string[];

/** Records the floats of an object from the literals of its text. Those in its metadata, which is typed, do not count. */
export function noteFloats(object: JsonObject, literals: FloatLiterals): void {
  const found: Path[] = [];
  if (literals.size > 0)
    for (const key in object) if (key !== 'metadata') find(object[key], key, object, literals, [], found);
  setFloats(object, found);
}

function setFloats(object: JsonObject, floats: readonly Path[] | undefined): void {
  const { floats: known, ...others } = object[FACTS] ?? {};
  if (floats !== undefined && floats.length > 0) object[FACTS] = { ...others, floats };
  else if (known !== undefined) {
    if (Object.keys(others).length > 0) object[FACTS] = others;
    else delete object[FACTS];
  }
}

function find(
  value: JsonValue | undefined,
  key: string,
  holder: JsonObject | JsonValue[],
  literals: FloatLiterals,
  parents: Path,
  found: Path[],
): void {
  if (typeof value === 'number') {
    const isFloat = Number.isSafeInteger(value) && literals.get(holder)?.has(key) === true;
    if (isFloat) found.push([...parents, key]);
  } else if (typeof value === 'object' && value !== null) {
    const path = [...parents, key];
    for (const [name, member] of Object.entries(value)) find(member, name, value, literals, path, found);
  }
}

/** Sets the floats of an object to those of the object whose contents it received. */
export function takeFloats(object: JsonObject, contents: JsonObject): void {
  setFloats(object, contents[FACTS]?.floats);
}

/** Drops the floats in fields that are not kept from what the client sent. */
export function keepFloats(object: JsonObject, isKept: (field: string) => boolean): void {
  const known = object[FACTS]?.floats;
  if (known === undefined) return;
  setFloats(
    object,
    known.filter(([field = '']) => isKept(field)),
  );
}

/** Returns the object to evaluate: itself if it has no floats, else a copy that contains them. */
export function withFloats<T extends JsonObject>(object: T): T {
  const known = object[FACTS]?.floats;
  if (known === undefined) return object;
  const copy = deepCopy(object);
  setFloats(copy, undefined);
  for (const path of known) {
    let holder: JsonValue | undefined = copy;
    for (const key of path.slice(0, -1))
      holder = typeof holder === 'object' ? (holder as JsonObject | null)?.[key] : undefined;
    const key = path.at(-1) ?? '';
    const value = typeof holder === 'object' ? (holder as JsonObject | null)?.[key] : undefined;
    // For the type checker it is a number, which trees may contain.
    if (typeof value === 'number') (holder as JsonObject)[key] = new Float(value) as unknown as number;
  }
  return copy;
}

/** Converts a float as Go does: a value outside the range of int64 becomes the smallest int64. */
export function toInt64(value: number): number | bigint {
  if (value >= 2 ** 63 || value < -(2 ** 63)) return MIN_INT64;
  return Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) + 0 : BigInt(Math.trunc(value));
}
