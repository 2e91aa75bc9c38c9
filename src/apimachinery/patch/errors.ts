import { ApiError } from '../meta/errors.js';
import { goFormat, goTypeName } from '../json/go-format.js';
import type { JsonObject, JsonValue } from '../json/json.js';

/** Go's `%s` of nil. */
export const NO_TYPE = '%!s(<nil>)';

/** Returns the error for a patch that cannot be applied. As kube-apiserver does, it hides the exact reason. */
export function unprocessable(): ApiError {
  return new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}

/** Returns a failure for which kube-apiserver has no reason: a 500 with the bare message. */
export function internal(message: string): ApiError {
  return new ApiError(500, '', message);
}

export const noMergeKey = (map: JsonObject, key: string): ApiError =>
  internal(`map: ${goFormat(map)} does not contain declared merge key: ${key}`);
export const badArgument = (expected: string, actual: JsonValue | undefined): ApiError =>
  internal(`expected a ${expected}, but received a ${actual === null ? NO_TYPE : goTypeName(actual)}`);
