import {
  type FieldError,
  type FieldPath,
  Printed,
  duplicate,
  invalid,
  required,
  tooMany,
} from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, textAt } from '../../../../apimachinery/json/json.js';
import { goJson } from '../../../../apimachinery/meta/meta.js';
import { resolveFieldPath } from '../../../../schema/cel/field-path.js';
import type { JsonSchemaProps } from '../../../../schema/interfaces.js';
import { structuralError } from '../../../../schema/structural.js';
import type { InternalVersion } from '../internal.js';
import { MAX_SELECTABLE_FIELDS } from '../interfaces.js';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

/** Optional strings are pointers in Go, which errors print as JSON, without Go's escapes. */
const optionalText = (text: string): Printed => new Printed(goJson(text));

export function validateDeprecationWarning(version: InternalVersion, path: FieldPath): FieldError[] {
  const text = version.deprecationWarning;
  if (text === undefined) return [];
  const wrong = (detail: string): FieldError => invalid(path, optionalText(text), detail);
  if (!version.deprecated) return [wrong('can only be set for deprecated versions')];
  const errors: FieldError[] = [];
  if (Buffer.byteLength(text) > 256) errors.push(wrong('must be <= 256 characters long'));
  if (text === '') errors.push(wrong('must not be an empty string'));
  let index = 0;
  for (const char of text) {
    if (char !== ' ' && !/[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(char)) {
      const found = `non-printable character found at index ${String(index)}`;
      errors.push(wrong(`must only contain printable UTF-8 characters; ${found}`));
      break;
    }
    index += Buffer.byteLength(char);
  }
  return errors;
}

function validateSimpleJsonPath(text: string, path: FieldPath): FieldError[] {
  return text.startsWith('.') ? [] : [invalid(path, text, 'must be a simple json path starting with .')];
}

export function validateColumn(column: JsonObject, path: FieldPath): FieldError[] {
  const text = (key: string): string => textAt(column, key);
  const errors: FieldError[] = [];
  if (text('name') === '') errors.push(required(path.child('name')));
  const types = `must be one of ${COLUMN_TYPES.join(',')}`;
  if (text('type') === '') errors.push(required(path.child('type'), types));
  else if (!COLUMN_TYPES.includes(text('type'))) errors.push(invalid(path.child('type'), text('type'), types));
  if (text('format') !== '' && !COLUMN_FORMATS.includes(text('format'))) {
    errors.push(invalid(path.child('format'), text('format'), `must be one of ${COLUMN_FORMATS.join(',')}`));
  }
  const at = path.child('JSONPath');
  if (text('jsonPath') === '') return [...errors, required(at)];
  return [...errors, ...validateSimpleJsonPath(text('jsonPath'), at)];
}

export function validateSubresources(subresources: JsonObject | undefined, path: FieldPath): FieldError[] {
  const scale = objectAt(subresources, 'scale');
  if (scale === undefined) return [];
  const replicas = (key: string, parent: string): FieldError[] => {
    const text = textAt(scale, key);
    const at = path.child(`scale.${key}`);
    if (text === '') return [required(at)];
    const errors = validateSimpleJsonPath(text, at);
    if (errors.length > 0 || text.startsWith(`.${parent}.`)) return errors;
    return [invalid(at, text, `should be a json path under .${parent}`)];
  };
  const errors = [...replicas('specReplicasPath', 'spec'), ...replicas('statusReplicasPath', 'status')];
  const selector = textAt(scale, 'labelSelectorPath');
  if (selector === '') return errors;
  const at = path.child('scale.labelSelectorPath');
  const faults = validateSimpleJsonPath(selector, at);
  if (faults.length === 0 && !selector.startsWith('.spec.') && !selector.startsWith('.status.')) {
    faults.push(invalid(at, optionalText(selector), 'should be a json path under either .spec or .status'));
  }
  return [...errors, ...faults];
}

/** Validates the fields that selectors may use: scalars outside metadata, each only once. */
export function validateSelectableFields(
  fields: readonly JsonObject[],
  schema: JsonSchemaProps,
  path: FieldPath,
  allowMany: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  const fault = structuralError(schema);
  if (fault !== undefined)
    errors.push(invalid(path.toString().replace(/selectableFields$/, 'schema.openAPIV3Schema'), '', fault));
  const seen = new Set<string>();
  for (const [i, field] of fields.entries()) {
    const at = path.index(i).child('jsonPath');
    const text = textAt(field, 'jsonPath');
    if (text === '') {
      errors.push(required(at));
      continue;
    }
    const found = resolveFieldPath(text, schema, 'forbidden');
    if ('error' in found) {
      errors.push(invalid(at, text, `is an invalid path: ${found.error}`));
      continue;
    }
    if (/^metadata(?![^.[])/.test(found.path.toString()))
      errors.push(invalid(at, text, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(textAt(found.schema, 'type'))) {
      const allowed = 'Enum string fields and strings with formats are allowed.';
      errors.push(invalid(at, text, `must point to a field of type string, boolean or integer. ${allowed}`));
    }
    const key = found.path.toString();
    if (seen.has(key)) errors.push(duplicate(at, text));
    seen.add(key);
  }
  if (seen.size > MAX_SELECTABLE_FIELDS && !allowMany) errors.push(tooMany(path, seen.size, MAX_SELECTABLE_FIELDS));
  return errors;
}
