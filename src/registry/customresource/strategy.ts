import { type FieldError, FieldPath, invalid } from '../../apimachinery/meta/field-error.js';
import { keepFloats, withFloats } from '../../apimachinery/json/float.js';
import { addFacts, deepCopy, deepEqual, FACTS } from '../../apimachinery/json/json.js';
import { type GroupVersionKind, type KubeObject, scopeOf } from '../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../apimachinery/validation/names.js';
import {
  finalizerWarnings,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '../../apimachinery/validation/object-meta.js';
import { withYieldPoint } from '@annex/cel/yield-point';
import type { CompiledSchema } from '../../schema/compile.js';
import type { ValidationOptions } from '../../schema/interfaces.js';
import type { Strategy } from '../rest/interfaces.js';
import { unreadableErrors } from './applied-metadata.js';

export interface CustomStrategyOptions {
  readonly gvk: GroupVersionKind;
  readonly namespaced: boolean;
  readonly schema: CompiledSchema;
  readonly hasStatus: boolean;
}

/** Returns the strategy of a custom resource (apiextensions-apiserver, registry/customresource). */
export function customResourceStrategy(options: CustomStrategyOptions): Strategy {
  const { gvk, schema } = options;
  const groupVersion = `${gvk.group}/${gvk.version}`;
  return {
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    ...(options.hasStatus ? { resetFields: { [groupVersion]: [['status']] } } : {}),
    prepareForCreate(_context, object) {
      if (options.hasStatus) delete object['status'];
      object.metadata.generation = 1;
    },
    validateCreate(context, object) {
      const typeErrors = validateTypeMeta(gvk, object);
      const mistyped = typeErrors.length > 0;
      const validMeta = (): FieldError[] => validateObjectMeta(object.metadata, scopeOf(options), nameIsDnsSubdomain);
      const before = mistyped ? typeErrors : metadataErrors(object, validMeta);
      return [
        ...before,
        ...withYieldPoint(context.ruleYieldPoint?.(), () => schema.validate(withFloats(object), { before, mistyped })),
      ];
    },
    warningsOnCreate: (_context, object) => finalizerWarnings(object.metadata.finalizers, undefined),
    canonicalize(object) {
      if (object[FACTS]?.unpruned === true) schema.pruneUnknown(object);
      // Objects are read with the defaults of their status, which only a status write can set.
      if (options.hasStatus && object['status'] === undefined) schema.applyDefaults(object);
    },
    prepareForUpdate(_context, object, old) {
      if (options.hasStatus) {
        if (old['status'] !== undefined) object['status'] = old['status'];
        else delete object['status'];
        keepFloats(object, (field) => field !== 'status');
      }
      if (!equalButMetadata(withFloats(object), old)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
    },
    validateUpdate: updateValidation(gvk, (object, validation) => schema.validate(object, validation)),
    warningsOnUpdate: (_context, object, old) => finalizerWarnings(object.metadata.finalizers, old.metadata.finalizers),
  };
}

/** Returns the errors of metadata: of its types, else those that the validation finds. */
function metadataErrors(object: KubeObject, validate: () => FieldError[]): FieldError[] {
  const unreadable = unreadableErrors(object);
  return unreadable.length > 0 ? unreadable : validate();
}

/** Returns the validation of updates: kind and metadata first, then the schema. */
function updateValidation(
  gvk: GroupVersionKind,
  validate: (object: KubeObject, options: ValidationOptions) => readonly FieldError[],
): Strategy['validateUpdate'] {
  return (context, object, old) => {
    const typeErrors = validateTypeMeta(gvk, object);
    const mistyped = typeErrors.length > 0;
    const validMeta = (): FieldError[] => validateObjectMetaUpdate(object.metadata, old.metadata);
    const before = mistyped ? typeErrors : metadataErrors(object, validMeta);
    const warn = (text: string): void => context.warn(text);
    return [
      ...before,
      ...withYieldPoint(context.ruleYieldPoint?.(), () =>
        validate(withFloats(object), { old, before, mistyped, warn }),
      ),
    ];
  };
}

/** The fields that a status write leaves unchanged. */
export const STATUS_RESETS: readonly (readonly string[])[] = [['metadata'], ['spec']];

/** Returns the strategy of the status subresource: everything but the status stays unchanged. */
export function customStatusStrategy(options: CustomStrategyOptions): Strategy {
  const { gvk, schema } = options;
  return {
    ...customResourceStrategy(options),
    resetFields: { [`${gvk.group}/${gvk.version}`]: STATUS_RESETS },
    prepareForUpdate(_context, object, old) {
      // A status may come in an object of another kind, which was decoded without pruning.
      if (object.kind !== gvk.kind) addFacts(object, { unpruned: true });
      const { status } = object;
      const { managedFields } = object.metadata;
      for (const key in object) delete object[key];
      Object.assign(object, deepCopy(old));
      if (managedFields === undefined) delete object.metadata.managedFields;
      else object.metadata.managedFields = managedFields;
      if (status === undefined) delete object['status'];
      else object['status'] = status;
      keepFloats(object, (field) => field === 'status');
    },
    validateUpdate: updateValidation(gvk, (object, validation) => schema.validateStatus(object, validation)),
    warningsOnUpdate: () => [],
  };
}

function equalButMetadata(a: KubeObject, b: KubeObject): boolean {
  const { metadata: _a, ...restA } = a;
  const { metadata: _b, ...restB } = b;
  return deepEqual(restA, restB);
}

function validateTypeMeta(gvk: GroupVersionKind, object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const groupVersion = `${gvk.group}/${gvk.version}`;
  if (object.kind !== gvk.kind) errors.push(invalid(FieldPath.of('kind'), object.kind ?? '', `must be ${gvk.kind}`));
  if (object.apiVersion !== groupVersion) {
    errors.push(invalid(FieldPath.of('apiVersion'), object.apiVersion ?? '', `must be ${groupVersion}`));
  }
  return errors;
}
