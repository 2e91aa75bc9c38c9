import { isObject, type JsonObject, type JsonValue } from '../../../../apimachinery/json/json.js';
import { formatGroupVersionKind, type GroupVersionKind, type KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { Value } from '@annex/cel';
import { fieldType } from '../../../../structured-merge-diff/schema/kinds.js';
import { mergeValues } from '../../../../structured-merge-diff/merge.js';
import type { Type } from '../../../../structured-merge-diff/schema/schema.js';
import { type ListItems, TypeMismatchError, validateValue } from '../../../../structured-merge-diff/validate.js';
import { type JsonOptions, NotJsonError, toJson, typeNameProblems } from '../../../cel/json-value.js';
import { printedKind } from '../../../type-meta.js';
import { MutationError } from './mutation-error.js';

/**
 * Returns the object with an apply configuration, the result of an expression, merged into it. Without `type`, objects
 * of the kind cannot be merged. Throws MutationError.
 */
export function applyConfiguration(
  object: KubeObject,
  value: Value,
  type: Type | undefined,
  kind: GroupVersionKind,
): JsonObject {
  const problems = typeNameProblems(value, 'Object');
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join('\n')}`);
  const { apiVersion, kind: kindName } = object;
  const placeholders = { used: false };
  const checked = { ...json(value, { exact: true, placeholders }), apiVersion, kind: kindName };
  let configuration = checked;
  const merged = applying(() => {
    const named = printedKind(object);
    if (type === undefined || named !== formatGroupVersionKind(kind)) {
      throw new MutationError(`failed to convert patch object to typed object: no corresponding type for ${named}`);
    }
    check('failed to convert patch object to typed object', type, checked, 'unique');
    if (placeholders.used) configuration = { ...json(value, { exact: true }), apiVersion, kind: kindName };
    if (placeholders.used) check('failed to convert patch object to typed object', type, configuration, 'unique');
    const atomic = atomicParts(type, configuration, '');
    if (atomic.length > 0) {
      const which = atomic.join(', ');
      throw new MutationError(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${which}`);
    }
    check('failed to convert original object to typed object', type, object, 'duplicates allowed');
    return mergeValues(type, object, configuration);
  });
  return isObject(merged) ? merged : {};
}

function json(value: Value, options: JsonOptions): JsonObject {
  try {
    const converted = toJson(value, options);
    return isObject(converted) ? converted : {};
  } catch (error) {
    if (error instanceof NotJsonError) throw new MutationError(`invalid return type: ${error.message}`);
    throw error;
  }
}

function applying<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof MutationError) throw new MutationError(`error applying patch: ${error.message}`);
    throw error;
  }
}

function check(what: string, type: Type, value: JsonObject, items: ListItems): void {
  try {
    validateValue(type, value, items);
  } catch (error) {
    if (error instanceof TypeMismatchError) throw new MutationError(`${what}: ${error.message}`);
    throw error;
  }
}

/** Returns the paths in a configuration that the type treats as atomic: whatever the configuration does not repeat there would be lost. */
function atomicParts(type: Type, value: JsonValue | undefined, path: string): string[] {
  if (Array.isArray(value)) {
    const { list } = type;
    if (list === undefined) return [];
    const own = list.atomic ? [path] : [];
    return [...own, ...value.flatMap((item, i) => atomicParts(list.element, item, `${path}[${String(i)}]`))];
  }
  const { map } = type;
  if (!isObject(value) || map === undefined) return [];
  const own = map.atomic ? [path] : [];
  return [
    ...own,
    // Fields that are not declared are not examined.
    ...Object.keys(value).flatMap((key) =>
      map.fields.has(key) ? atomicParts(fieldType(map, key), value[key], `${path}.${key}`) : [],
    ),
  ];
}
