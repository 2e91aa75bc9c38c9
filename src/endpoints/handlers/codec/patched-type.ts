import { goKind, interpretTypeMeta, JsonError } from '../../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import type { TypeMeta } from '../../../apimachinery/protobuf/protobuf.js';
import type { PatchedTree } from './codec.js';

/** Returns the patched value as an object, or rejects the patch if it is not one. */
export function patchedObject(value: JsonValue, refuse: PatchedTree['refuse']): JsonObject {
  if (isObject(value)) return value;
  throw refuse(`json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`);
}

/** Returns the kind and apiVersion of a patched value, whose keys are read in sorted order. */
export function patchedTypeMeta(patched: JsonValue, refuse: PatchedTree['refuse']): TypeMeta {
  try {
    return interpretTypeMeta(isObject(patched) ? sortedKeys(patched) : patched);
  } catch (error) {
    if (error instanceof JsonError) throw refuse(error.message);
    throw error;
  }
}

const sortedKeys = (object: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.keys(object)
      .sort(compareUtf8)
      .map((key) => [key, object[key]]),
  );
