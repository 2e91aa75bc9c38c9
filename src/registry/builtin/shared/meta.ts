import { type FieldError, FieldPath, invalid } from '../../../apimachinery/meta/field-error.js';
import type { ObjectMeta, Scope } from '../../../apimachinery/meta/meta.js';
import {
  STANDARD_FINALIZERS,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '../../../apimachinery/validation/object-meta.js';
import type { NameValidator } from '../../../apimachinery/validation/names.js';
import { eachErrors } from './checks.js';

const FINALIZERS = FieldPath.of('metadata', 'finalizers');

/** Rejects a finalizer without a domain that is not a standard one. */
export function legacyFinalizerErrors(name: string, path: FieldPath): FieldError[] {
  if (name.includes('/') || STANDARD_FINALIZERS.has(name)) return [];
  return [invalid(path, name, 'name is neither a standard finalizer name nor is it fully qualified')];
}

const finalizerErrors = (meta: ObjectMeta): FieldError[] =>
  eachErrors(meta.finalizers ?? [], FINALIZERS, legacyFinalizerErrors);

/** Validates the metadata of a core object on creation: the general rules, and those for finalizers. */
export function validateCoreMeta(meta: ObjectMeta, scope: Scope, validateName: NameValidator): FieldError[] {
  return [...validateObjectMeta(meta, scope, validateName), ...finalizerErrors(meta)];
}

/** Validates the metadata of a core object on update. */
export function validateCoreMetaUpdate(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  return [...validateObjectMetaUpdate(meta, old), ...finalizerErrors(meta)];
}
