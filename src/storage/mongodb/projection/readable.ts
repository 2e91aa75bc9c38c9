import { isInt64 } from '../../../go/int64.js';
import { BSON } from 'mongodb';
import { isObject, objectAt, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { EncodedObject, Revision } from '../../interfaces.js';

/** Deeper values are replaced by placeholders: MongoDB refuses documents that are nested too deeply. */
const MAX_DEPTH = 90;
const MAX_DOCUMENT_BYTES = (16 << 20) - (64 << 10);
/** Objects up to this size, in bytes, fit into a document in any form. */
const SMALL_BYTES = 1 << 20;

/** A document as passed to the driver: Maps stand for objects with names that the driver reserves. */
export type Readable = Record<string, unknown>;

/**
 * Returns the fields by which users find an object with MongoDB's own tools: all of it except managedFields. The exact bytes are stored
 * beside them, so values that BSON cannot hold may be shown in another form. The result shares the object's values and must not be changed.
 * Undefined if it would not fit into a document.
 */
export function readableForm(encoded: EncodedObject, revision: Revision): Readable | undefined {
  const { object } = encoded;
  const { managedFields: _, ...metadata } = objectAt(object, 'metadata') ?? {};
  const special = holdsSpecialNames(encoded.tail);
  const convert = (value: JsonValue | undefined): unknown =>
    special || !isPlain(value, 1) ? converted(value, 1) : value;
  const document: Readable = {};
  for (const name in object) {
    const value = object[name];
    if (value === undefined || name.startsWith('$') || name === '_id' || name === '_annex' || name === '_bsontype')
      continue;
    const shown = name === 'metadata' ? { resourceVersion: String(revision), ...metadata } : value;
    document[withoutNul(name)] = convert(shown);
  }
  if (encoded.tail.length < SMALL_BYTES) return document;
  const bytes = Buffer.byteLength(encoded.head) + Buffer.byteLength(encoded.tail);
  return BSON.calculateObjectSize(document) + bytes > MAX_DOCUMENT_BYTES ? undefined : document;
}

function holdsSpecialNames(text: string): boolean {
  return text.includes('"_bsontype"') || text.includes('\\u0000');
}

/** Reports whether the driver writes the value unchanged. */
function isPlain(value: JsonValue | undefined, depth: number): boolean {
  if (typeof value === 'bigint') return isInt64(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    for (const element of value) if (!isPlain(element, depth + 1)) return false;
    return true;
  }
  for (const name in value) if (!isPlain(value[name], depth + 1)) return false;
  return true;
}

function converted(value: JsonValue | undefined, depth: number): unknown {
  if (typeof value === 'bigint') return isInt64(value) ? value : Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return abridged(value);
  if (Array.isArray(value)) return value.map((element) => converted(element, depth + 1));
  const document = new Map<string, unknown>();
  for (const name in value) {
    if (value[name] !== undefined) document.set(withoutNul(name), converted(value[name], depth + 1));
  }
  return document;
}

/** Returns the placeholder for a value that is nested too deeply. */
function abridged(value: JsonValue[] | JsonObject): string {
  return isObject(value) ? '{…}' : '[…]';
}

/** Replaces NUL, which ends names in BSON, with its visible symbol. */
function withoutNul(name: string): string {
  return name.includes('\0') ? name.replaceAll('\0', '\u2400') : name;
}
