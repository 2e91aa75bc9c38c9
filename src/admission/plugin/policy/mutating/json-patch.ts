import { newInternalError } from '../../../../apimachinery/meta/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../../../../apimachinery/json/json.js';
import { goJson, type KubeObject } from '../../../../apimachinery/meta/meta.js';
import {
  applyOperations,
  PatchFailure,
  TestFailure,
  type JsonPatchOperation,
} from '../../../../apimachinery/patch/json-patch.js';
import { CelList, type Value } from '@annex/cel';
import { NotJsonError, toJson, typeNameProblems } from '../../../cel/json-value.js';
import { ObjectLiteral, PatchOperation } from '../../../cel/types.js';
import { checkTypeMeta } from '../../../type-meta.js';
import { MutationError } from './mutation-error.js';

/**
 * Returns the object with a JSON patch, the result of an expression, applied to it; undefined if a test operation
 * fails. Throws MutationError.
 */
export function applyPatch(object: KubeObject, value: Value): JsonObject | undefined {
  if (!(value instanceof CelList)) {
    throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array');
  }
  const operations = Array.from(value, operationOf);
  try {
    return withKind(applyOperations(object, operations));
  } catch (error) {
    if (error instanceof TestFailure) return undefined;
    if (!(error instanceof PatchFailure)) throw error;
    throw new MutationError(`JSON Patch: ${error.message}`);
  }
}

/** Verifies that the patched value still has a kind. Throws ApiError. */
function withKind(patched: JsonValue): JsonObject {
  if (isObject(patched)) checkTypeMeta(patched);
  if (isObject(patched) && typeof patched['kind'] === 'string' && patched['kind'] !== '') return patched;
  throw newInternalError(`Object 'Kind' is missing in '${goJson(patched)}'`);
}

function operationOf(item: Value): JsonPatchOperation {
  if (!(item instanceof PatchOperation)) {
    throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
  }
  const { op, path, from, value } = item;
  const operation: JsonPatchOperation = { op, path };
  if (from !== '') operation['from'] = from;
  if (value === undefined) return operation;
  if (value instanceof ObjectLiteral) {
    const problems = typeNameProblems(value, value.typeName);
    if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join('\n')}`);
  }
  try {
    operation['value'] = toJson(value);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const why = `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${error.message}`;
    throw new MutationError(why);
  }
  return operation;
}
