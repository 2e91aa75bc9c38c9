import type { JsonValue } from '../apimachinery/json.js';

const LONG_NUMBER = /[0-9]{16}/;

/**
 * JSON of a path element: a scalar or a flat object, short. Integers beyond 2^53 are kept, which JSON.parse would round; only
 * texts with sixteen digits in a row can hold one.
 */
export function parseElementJson(text: string): JsonValue {
  const value = JSON.parse(text) as JsonValue;
  if (!LONG_NUMBER.test(text)) return value;
  if (typeof value === 'number') return exact(text.trim(), value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  for (const [, name, digits] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:\s*(-?[0-9]+)(?=\s*[,}])/g)) {
    if (name === undefined || digits === undefined) continue;
    const key = JSON.parse(name) as string;
    const member = value[key];
    if (typeof member === 'number') value[key] = exact(digits, member);
  }
  return value;
}

function exact(digits: string, rounded: number): number | bigint {
  return Number.isSafeInteger(rounded) || !/^-?[0-9]+$/.test(digits) ? rounded : BigInt(digits);
}
