import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { formatPlain, formatSyntax, goType } from './fieldpath/format.js';
import { GoValue } from './go-value.js';
import { fieldType, kindOf } from './schema/kinds.js';
import { itemElement, ItemNames, itemProblem, itemText } from './list-items.js';
import type { ListType, MapType, Scalar, Type } from './schema/schema.js';
import { MAX_DEPTH } from './fieldpath/serialize.js';

export interface ValidationError {
  path: string;
  readonly message: string;
}

/** A value does not match its type. */
export class TypeMismatchError extends Error {
  override readonly name = 'TypeMismatchError';
  constructor(readonly errors: readonly ValidationError[]) {
    super(formatErrors(errors));
  }
}

function formatErrors(errors: readonly ValidationError[]): string {
  const lines = errors.map((error) => (error.path === '' ? error.message : `${error.path}: ${error.message}`));
  return lines.length === 1 ? (lines[0] ?? '') : ['errors:', ...lines.map((line) => `  ${line}`)].join('\n');
}

/** Whether items of a set or keyed list may occur twice. */
export type ListItems = 'unique' | 'duplicates allowed';

/** Throws TypeMismatchError if the value does not match the type. All other functions of this folder expect validated values. */
export function validateValue(type: Type, value: JsonValue | undefined, items: ListItems): void {
  const errors = validate(type, value, items, 0);
  if (errors !== undefined) throw new TypeMismatchError(errors);
}

type Errors = ValidationError[] | undefined;

const failure = (message: string): ValidationError[] => [{ path: '', message }];

function validate(type: Type, value: JsonValue | undefined, items: ListItems, depth: number): Errors {
  if (depth > MAX_DEPTH) return failure('exceeded max depth');
  switch (kindOf(type, value)) {
    case 'scalar':
      return type.scalar === undefined || fits(type.scalar, value)
        ? undefined
        : failure(scalarMismatch(type.scalar, value));
    case 'map':
      if (value === null || value === undefined || type.map === undefined) return undefined;
      if (typeof value !== 'object' || Array.isArray(value) || value instanceof GoValue)
        return failure(`expected map, got &{${formatPlain(value)}}`);
      return validateMap(type.map, value, items, depth);
    case 'list':
      if (value === null || value === undefined || type.list === undefined) return undefined;
      if (!Array.isArray(value)) return failure(`expected list, got &{${formatPlain(value)}}`);
      return validateList(type.list, value, items, depth);
    case 'none':
      return failure('schema error: invalid atom: inlined');
  }
}

function fits(scalar: Scalar, value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  switch (scalar) {
    case 'string':
      return typeof value === 'string';
    case 'numeric':
      return typeof value === 'number' || typeof value === 'bigint';
    case 'boolean':
      return typeof value === 'boolean';
    case 'untyped':
      return typeof value !== 'object';
  }
}

/** Go prints the wrapped value differently for each scalar type. */
function scalarMismatch(scalar: Scalar, value: JsonValue = null): string {
  switch (scalar) {
    case 'string':
      return `expected string, got &value.valueUnstructured{Value:${formatSyntax(value)}}`;
    case 'numeric':
      return `expected numeric (int or float), got ${goType(value)}`;
    case 'boolean':
      return `expected boolean, got &{${formatPlain(value)}}`;
    case 'untyped':
      return `expected any scalar, got &{${formatPlain(value)}}`;
  }
}

/** Prefixes the paths of the errors found below a path element and appends them to `errors`. */
function below(found: ValidationError[], errors: Errors, prefix: string): Errors {
  for (const error of found) error.path = prefix + error.path;
  if (errors === undefined) return found;
  for (const error of found) errors.push(error);
  return errors;
}

function validateMap(map: MapType, value: JsonObject, items: ListItems, depth: number): Errors {
  let errors: Errors;
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    if (map.element === undefined && !map.fields.has(key)) {
      return below(failure('field not declared in schema'), errors, `.${key}`);
    }
    const found = validate(fieldType(map, key), member, items, depth + 1);
    if (found !== undefined) errors = below(found, errors, `.${key}`);
  }
  return errors;
}

function validateList(list: ListType, values: readonly JsonValue[], items: ListItems, depth: number): Errors {
  let errors: Errors;
  const seen =
    list.atomic || items === 'duplicates allowed'
      ? undefined
      : { names: new ItemNames(list), texts: new Set<string>() };
  for (let i = 0; i < values.length; i++) {
    const item = values[i];
    const problem = list.atomic ? undefined : itemProblem(list, item);
    // An item without a path element ends the validation of the list, because errors below it would have no path.
    if (problem !== undefined) return below(failure(`element ${String(i)}: ${problem}`), errors, '');
    if (seen !== undefined) {
      const text = seen.names.of(item, i);
      if (seen.texts.has(text))
        errors = below(failure(`duplicate entries for key ${itemName(list, item, i)}`), errors, '');
      else seen.texts.add(text);
    }
    const found = validate(list.element, item, items, depth + 1);
    if (found !== undefined) errors = below(found, errors, itemName(list, item, i));
  }
  return errors;
}

function itemName(list: ListType, item: JsonValue | undefined, index: number): string {
  return list.atomic ? `[${String(index)}]` : itemElement(list, item, itemText(list, item, index)).toString();
}
