import { notSupported, tooLong, typeInvalid } from '../apimachinery/meta/field-error.js';
import { deepEqual, Float, type JsonValue } from '../apimachinery/json/json.js';
import { goJson, quote } from '../apimachinery/meta/meta.js';
import { FLOAT, INTEGER, type SchemaNode, kindOf, typeFault } from './node.js';
import { numberPasses, numericFaults } from './numeric.js';
import type { Walk } from './walk.js';

export function checkNull(node: SchemaNode, walk: Walk): void {
  if (node.types.length > 0 && !node.nullable) {
    if (walk.recordFailure()) return;
    const name = walk.name;
    const message = `${name} in body must be of type ${node.types.join(',')}: "null"`;
    walk.add(typeInvalid(walk.field(name), 'null', message), message);
  } else walk.matches += 1;
  // No value of an enum matches null, not even null.
  if (node.enumeration !== undefined) addEnumError(node.enumeration, null, walk);
}

export function addTypeError(node: SchemaNode, kind: number, walk: Walk): void {
  if (walk.recordFailure()) return;
  const name = walk.name;
  const [expected, found] = typeFault(node, kind);
  const message = `${name} in body must be of type ${expected}: ${quote(found)}`;
  walk.add(typeInvalid(walk.field(name), found, message), message);
}

/** Checks length and pattern; the first error ends the check. */
export function checkText(node: SchemaNode, value: string, walk: Walk): void {
  const { length, pattern } = node;
  if (length !== undefined) {
    const { min, minText, max } = length;
    // A text has at most as many characters as UTF-16 units, and at least half as many.
    if (max !== undefined && value.length > max && codePoints(value) > max) {
      if (walk.recordFailure()) return;
      const name = walk.name;
      walk.add(tooLong(walk.field(name), max), `${name} in body should be at most ${String(max)} chars long`);
      return;
    }
    if (min !== undefined && value.length < min * 2 && codePoints(value) < min) {
      if (walk.recordFailure()) return;
      const name = walk.name;
      walk.addInvalid(name, value, `${name} in body should be at least ${minText} chars long`);
      return;
    }
  }
  if (pattern !== undefined && !pattern.matches(value)) {
    if (walk.recordFailure()) return;
    const name = walk.name;
    const error = pattern.error();
    const text = error === undefined ? pattern.text : `${pattern.text}, but pattern is invalid: ${error}`;
    walk.addInvalid(name, value, `${name} in body should match '${text}'`);
  }
}

function codePoints(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0xd800 && code < 0xdc00) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next < 0xe000) i++;
    }
    count++;
  }
  return count;
}

export function checkFormat(node: SchemaNode, value: string, walk: Walk): void {
  if (node.formatCheck === undefined || node.formatCheck(value)) return;
  if (walk.recordFailure()) return;
  const name = walk.name;
  const message = `${name} in body must be of type ${node.format}: ${quote(value)}`;
  walk.add(typeInvalid(walk.field(name), value, message), message);
}

export function checkNumber(node: SchemaNode, value: number | bigint, whole: boolean, walk: Walk): void {
  if (node.numeric === undefined || numberPasses(node.numeric, value, whole)) return;
  if (walk.recordFailure()) return;
  const name = walk.name;
  for (const fault of numericFaults(node.numeric, value, whole, name)) {
    if (fault.value === undefined) walk.addGeneral(fault.message);
    else walk.addInvalid(name, fault.value, fault.message);
  }
}

export function checkEnum(node: SchemaNode, value: JsonValue, walk: Walk): void {
  if (typeof value === 'string' && node.enumStrings?.has(value) === true) return;
  const values = node.enumeration ?? [];
  if (typeof value !== 'string' && values.some((allowed) => convertsTo(value, allowed))) return;
  addEnumError(values, value, walk);
}

/**
 * Reports whether two values are equal after Go's conversion to the type of the allowed value: floats are truncated to integers,
 * integers become characters.
 */
function convertsTo(value: JsonValue, allowed: JsonValue): boolean {
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof Float) {
    const kind = kindOf(value);
    if (typeof allowed === 'string') {
      const code = Number(value);
      return kind === INTEGER && allowed === (code >= 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd');
    }
    if (allowed instanceof Float) return Number(value) === Number(allowed);
    if (typeof allowed !== 'number' && typeof allowed !== 'bigint') return false;
    if (kindOf(allowed) === INTEGER && kind === FLOAT) return Math.trunc(Number(value)) == allowed;
    return (typeof value === 'bigint' ? value : Number(value)) == allowed;
  }
  return allowed !== null && deepEqual(value, allowed);
}

function addEnumError(values: readonly JsonValue[], value: JsonValue, walk: Walk): void {
  if (walk.recordFailure()) return;
  const name = walk.name;
  const supported = values.map((allowed) => (typeof allowed === 'string' ? allowed : goJson(allowed)));
  walk.add(notSupported(walk.field(name), value, supported), `${name} in body should be one of ${supported.join(' ')}`);
}
