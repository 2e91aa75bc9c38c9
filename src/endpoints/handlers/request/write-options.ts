import { newInvalid } from '../../../apimachinery/meta/errors.js';
import {
  type FieldError,
  FieldPath,
  forbidden,
  notSupported,
  required,
} from '../../../apimachinery/meta/field-error.js';
import { validateFieldManager } from '../../../apimachinery/validation/object-meta.js';
import { wellFormed } from '../../../util/text/utf8.js';
import type { FieldValidation } from '../codec/codec.js';
import type { Query } from './query.js';

/** Validated CreateOptions, UpdateOptions and PatchOptions of meta/v1. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Set for apply only. */
  readonly force: boolean;
}

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
  errors.push(...validateFieldManager(fieldManager, 'fieldManager'), ...validateDryRun(dryRun));
  if (!VALIDATIONS.includes(fieldValidation)) {
    errors.push(notSupported(FieldPath.of('fieldValidation'), fieldValidation, VALIDATIONS));
  }
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind }, '', errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: wellFormed(fieldManager),
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    force: query.boolean('force') ?? false,
  };
}

/** Returns the values of `dryRun`. A `dryRun` without a value counts as absent (the specification's reading; kube-apiserver rejects it). */
export function dryRunValues(query: Query): readonly string[] {
  const values = query.all('dryRun');
  return values.every((value) => value === '') ? [] : values;
}

export function validateDryRun(values: readonly string[]): FieldError[] {
  if (values.every((value) => value === 'All')) return [];
  return [notSupported(FieldPath.of('dryRun'), [...values], ['All'])];
}
