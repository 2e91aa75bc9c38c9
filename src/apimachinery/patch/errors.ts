import { ApiError } from '../meta/errors.js';
import { goFormat, goTypeName } from '../json/go-format.js';
import type { JsonObject, JsonValue } from '../json/json.js';

/** Go's `%s` of nothing. */
export const NO_TYPE = '%!s(<nil>)';

/** A patch that cannot be carried out: kube-apiserver hides what exactly is wrong with it. */
export function unprocessable(): ApiError {
  return new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}

/** A failure for which kube-apiserver has no reason: 500 with the bare text. */
export function internal(message: string): ApiError {
  return new ApiError(500, '', message);
}

export const noMergeKey = (map: JsonObject, key: string): ApiError =>
  internal(`map: ${goFormat(map)} does not contain declared merge key: ${key}`);
export const badArgument = (expected: string, actual: JsonValue | undefined): ApiError =>
  internal(`expected a ${expected}, but received a ${actual === null ? NO_TYPE : goTypeName(actual)}`);
