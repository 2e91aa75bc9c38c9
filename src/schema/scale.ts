import { type FieldError, FieldPath, invalid } from '../apimachinery/meta/field-error.js';
import { goFormat, goTypeName } from '../apimachinery/json/go-format.js';
import { type JsonObject, type JsonValue, isObject } from '../apimachinery/json/json.js';
import type { ScaleSubresource } from './interfaces.js';

const MAX_INT32 = 2 ** 31 - 1;

/** The value at a simple path, or the error of following it. */
type PathResult = { readonly value: JsonValue | undefined } | { readonly error: string };

/** Returns the keys of a simple path like `.spec.replicas`. */
export const simplePath = (path: string): readonly string[] => path.replace(/^\./, '').split('.');

const accessorError = (path: readonly string[], found: JsonValue, expected: string): PathResult => ({
  error: `.${path.join('.')} accessor error: ${goFormat(found)} is of the type ${goTypeName(found)}, expected ${expected}`,
});

/** Follows a simple path, as the getters of unstructured objects do. */
function followPath(object: JsonObject, path: readonly string[]): PathResult {
  let value: JsonValue | undefined = object;
  for (const [i, key] of path.entries()) {
    if (value === null || value === undefined) return { value: undefined };
    if (!isObject(value)) return accessorError(path.slice(0, i + 1), value, 'map[string]interface{}');
    value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return { value };
}

function typed(object: JsonObject, path: string, type: 'int64' | 'string'): PathResult {
  const keys = simplePath(path);
  const result = followPath(object, keys);
  if ('error' in result || result.value === undefined || goTypeName(result.value) === type) return result;
  return accessorError(keys, result.value, type);
}

function validateReplicas(object: JsonObject, path: string): FieldError[] {
  const result = typed(object, path, 'int64');
  const at = FieldPath.of(path);
  if ('error' in result) return [invalid(at, 0, result.error)];
  const replicas = (result.value ?? 0) as number | bigint;
  if (replicas < 0) return [invalid(at, replicas, 'should be a non-negative integer')];
  if (replicas > MAX_INT32) return [invalid(at, replicas, `should be less than or equal to ${String(MAX_INT32)}`)];
  return [];
}

export const validateScaleSpec = (object: JsonObject, scale: ScaleSubresource): FieldError[] =>
  validateReplicas(object, scale.specReplicasPath);

export function validateScaleStatus(object: JsonObject, scale: ScaleSubresource): FieldError[] {
  const errors = validateReplicas(object, scale.statusReplicasPath);
  const { labelSelectorPath } = scale;
  if (labelSelectorPath !== undefined) {
    const result = typed(object, labelSelectorPath, 'string');
    if ('error' in result) errors.push(invalid(FieldPath.of(labelSelectorPath), '', result.error));
  }
  return errors;
}
