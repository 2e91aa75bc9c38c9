import { goKind, interpretTypeMeta, JsonError } from '../../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import type { TypeMeta } from '../../../apimachinery/protobuf/protobuf.js';
import type { PatchedTree } from './codec.js';

/** What a patch has made must be an object. */
export function patchedObject(value: JsonValue, refuse: PatchedTree['refuse']): JsonObject {
  if (isObject(value)) return value;
  throw refuse(`json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`);
}

/** Its type. What a patch has made is read with its keys sorted. */
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
