import { newInvalid } from '../../apimachinery/errors.js';
import {
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../apimachinery/field-error.js';
import type { Query } from './query.js';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** CreateOptions, UpdateOptions and PatchOptions of meta/v1, checked. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Apply only. */
  readonly force: boolean;
}

const MANAGER_MAX_BYTES = 128;
const VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn'];

export function createOrUpdateOptions(query: Query, kind: 'CreateOptions' | 'UpdateOptions'): WriteOptions {
  return check(query, kind, []);
}

export function patchOptions(query: Query, apply: boolean): WriteOptions {
  const errors: FieldError[] = [];
  if (apply) {
    if (query.string('fieldManager') === '') {
      errors.push(required(FieldPath.of('fieldManager'), 'is required for apply patch'));
    }
  } else if (query.has('force')) {
    errors.push(forbidden(FieldPath.of('force'), 'may not be specified for non-apply patch'));
  }
  return check(query, 'PatchOptions', errors);
}

function check(query: Query, kind: string, errors: FieldError[]): WriteOptions {
  const fieldManager = query.string('fieldManager');
  const dryRun = dryRunValues(query);
  const fieldValidation = query.string('fieldValidation');
  errors.push(...validateFieldManager(fieldManager), ...validateDryRun(dryRun));
  if (!VALIDATIONS.includes(fieldValidation)) {
    errors.push(notSupported(FieldPath.of('fieldValidation'), fieldValidation, VALIDATIONS));
  }
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind }, '', errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    force: query.boolean('force') ?? false,
  };
}

/** A `dryRun` without a value is none (the specification's reading; kube-apiserver refuses it). */
export function dryRunValues(query: Query): readonly string[] {
  const values = query.all('dryRun');
  return values.every((value) => value === '') ? [] : values;
}

export function validateDryRun(values: readonly string[]): FieldError[] {
  if (values.every((value) => value === 'All')) return [];
  return [notSupported(FieldPath.of('dryRun'), [...values], ['All'])];
}

function validateFieldManager(manager: string): FieldError[] {
  const path = FieldPath.of('fieldManager');
  const errors: FieldError[] = [];
  if (Buffer.byteLength(manager) > MANAGER_MAX_BYTES) errors.push(tooLong(path, MANAGER_MAX_BYTES));
  let position = 0;
  for (const char of manager) {
    if (char !== ' ' && !/[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(char)) {
      errors.push(invalid(path, manager, `invalid character ${unicodePoint(char)} (at position ${position})`));
    }
    position += Buffer.byteLength(char);
  }
  return errors;
}

/** Go's `%#U`: the code point, and the character where it is printable. */
function unicodePoint(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
