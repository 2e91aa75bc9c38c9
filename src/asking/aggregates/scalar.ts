import { Double, Duration, formatDuration, formatTimestamp, Optional, Quantity, Timestamp, Uint } from '@annex/cel';
import type { Type, Value } from '@annex/cel';
import type { JsonValue } from '../../apimachinery/json/json.js';
import { Quantity as Amount } from '../../apimachinery/meta/quantity.js';
import { sortKey } from '../sort-key.js';

/** A value that can be shown in a row, grouped by and ordered. */
export interface Scalar {
  readonly value: Value;
  readonly json: JsonValue;
  /** Has the order of the values, by code units. The first character tells the type. */
  readonly key: string;
}

/** What an expression has found for an object: a scalar, nothing (null, or an optional without a value), or an error. */
export type Found = Scalar | undefined | { readonly error: string };

export const isError = (found: Found): found is { readonly error: string } => found !== undefined && 'error' in found;

/** The types of scalars, but for the quantity, which is a struct. */
const SCALARS = new Set(['bool', 'int', 'uint', 'double', 'string', 'timestamp', 'duration', 'dyn']);

/** Returns the type of the value that an expression has if it has one. */
export const contentType = (type: Type): Type =>
  type.kind === 'opaque' && type.name === 'optional_type' ? contentType(type.elem) : type;

export function isScalarType(type: Type): boolean {
  const content = contentType(type);
  return SCALARS.has(content.kind) || content.name === QUANTITY;
}

export const QUANTITY = 'kubernetes.Quantity';
export const SCALAR_TYPES = 'bool, int, uint, double, string, timestamp, duration or quantity';

/** Returns a value as a scalar. */
export function scalarOf(value: Value | undefined): Found {
  if (value instanceof Optional) return scalarOf(value.value);
  if (value === undefined || value === null) return undefined;
  const json = jsonOf(value);
  if (json === undefined) return { error: `the value is no ${SCALAR_TYPES}` };
  if (typeof json === 'number' && !Number.isFinite(json)) return { error: 'the value is not a finite number' };
  return { value, json, key: Buffer.from(sortKey(value, false)).toString('latin1') };
}

function jsonOf(value: Value): JsonValue | undefined {
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Uint) return shortest(value.value);
  // -0 is written as 0.
  if (value instanceof Double) return value.value + 0;
  // Equal times are shown alike, whatever zone they were written in.
  if (value instanceof Timestamp) return formatTimestamp(new Timestamp(value.seconds, value.nanos));
  if (value instanceof Duration) return formatDuration(value);
  return value instanceof Quantity ? quantityText(value.nanos) : undefined;
}

/** Returns an integer as a number if that is exact. */
export const shortest = (value: bigint): number | bigint => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
};

/** Above this many billionths, a quantity has no suffix. */
const BEYOND_SUFFIXES = 10n ** 30n;

/** Returns a quantity of so many billionths. */
function quantityText(nanos: bigint): string {
  const isBeyond = nanos >= BEYOND_SUFFIXES || nanos <= -BEYOND_SUFFIXES;
  return Amount.of(nanos, -9, isBeyond ? 'DecimalExponent' : 'DecimalSI').toString();
}
