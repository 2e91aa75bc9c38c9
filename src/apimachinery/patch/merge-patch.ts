import { decodeDetailed, duplicateFieldErrors, goKind, JsonError } from '../json/decode.js';
import { newBadRequest } from '../meta/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import type { TextPatch } from './json-patch.js';
import { Literals } from './literals.js';

const BAD_PATCH = 'Invalid JSON Patch';

/** Decodes a JSON merge patch. Throws ApiError. Without `strict` a list is accepted, and replaces the object. */
export function decodeMergePatch(body: Uint8Array | string, strict: boolean): TextPatch<JsonObject | JsonValue[]> {
  const literals = new Literals();
  let decoded;
  try {
    decoded = decodeDetailed(body, { strict, literals });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw newBadRequest(strict ? `error decoding patch: ${error.message}` : BAD_PATCH);
  }
  const value = literals.read(decoded.value) ?? null;
  if (isObject(value) || (Array.isArray(value) && !strict)) {
    return { patch: value, strictErrors: duplicateFieldErrors(decoded.duplicates), literals };
  }
  throw newBadRequest(
    strict && value !== null
      ? `error decoding patch: json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`
      : BAD_PATCH,
  );
}

/** Returns a patch value that has nothing to be merged with: nulls in objects are dropped, also within lists. */
function pruneNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => (item === null ? null : pruneNulls(item)));
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const key in value) {
    const member = value[key];
    if (member !== null && member !== undefined) out[key] = pruneNulls(member);
  }
  return out;
}

function mergeObjects(document: JsonObject, patch: JsonObject): JsonObject {
  const out: JsonObject = { ...document };
  for (const key in patch) {
    const value = patch[key];
    if (value === undefined) continue;
    const current = Object.hasOwn(out, key) ? out[key] : undefined;
    if (value === null) delete out[key];
    else if (!isObject(current)) out[key] = pruneNulls(value);
    // A value that is not an object replaces an object unchanged.
    else out[key] = isObject(value) ? mergeObjects(current, value) : value;
  }
  return out;
}

/** Returns the patched document. Neither argument is modified; the result may share parts with both. */
export function applyMergePatch(document: JsonObject, patch: JsonObject | JsonValue[]): JsonValue {
  return Array.isArray(patch) ? pruneNulls(patch) : mergeObjects(document, patch);
}
