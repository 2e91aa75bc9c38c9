import { type FieldError, FieldPath, invalid } from '../../../../apimachinery/meta/field-error.js';
import type { Namespace, NamespaceSpec } from '../../../../apimachinery/generated/core.js';
import { formatTime, hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsLabel } from '../../../../apimachinery/validation/names.js';
import {
  FINALIZER_DELETE_DEPENDENTS,
  FINALIZER_ORPHAN_DEPENDENTS,
} from '../../../../apimachinery/validation/object-meta.js';
import type { DeletionStrategy, Propagation, Strategy } from '../../../rest/interfaces.js';
import { ownPrecondition } from '../../../generic/precondition.js';
import { keepField } from '../../shared/fields.js';
import { legacyFinalizerErrors, validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import { resets } from '../../shared/resource-type.js';

const NAME_LABEL = 'kubernetes.io/metadata.name';
const NAMESPACE_FINALIZER = 'kubernetes';

/** Returns the finalizers in the spec, which keep a namespace until its contents are gone. */
function namespaceFinalizers(object: Namespace): string[] {
  return object.spec?.finalizers ?? [];
}

function finalizerErrors(object: Namespace, path: (i: number) => FieldPath): FieldError[] {
  return namespaceFinalizers(object).flatMap((name, i) => [
    ...qualifiedNameErrors(name, path(i)),
    ...legacyFinalizerErrors(name, path(i)),
  ]);
}

const FINALIZERS = FieldPath.of('spec', 'finalizers');

const validate = (object: Namespace): FieldError[] => [
  ...validateCoreMeta(object.metadata, 'Cluster', nameIsDnsLabel),
  ...finalizerErrors(object, () => FINALIZERS),
];

function setNameLabel(object: Namespace): void {
  const { name } = object.metadata;
  if (name === undefined || name === '') return;
  object.metadata.labels = { ...object.metadata.labels, [NAME_LABEL]: name };
}

/** Sets the label with the name, and the phase. */
export function applyNamespaceDefaults(object: Namespace): void {
  setNameLabel(object);
  const status = object.status;
  if (!status?.phase) object.status = { ...status, phase: 'Active' };
}

export const namespaceStrategy: Strategy<Namespace> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    object.status = { phase: 'Active' };
    const given = namespaceFinalizers(object);
    const finalizers = given.includes(NAMESPACE_FINALIZER) ? given : [...given, NAMESPACE_FINALIZER];
    object.spec = { ...object.spec, finalizers };
  },
  prepareForUpdate: (_context, object, old) => {
    const finalizers = namespaceFinalizers(old);
    const { finalizers: _, ...spec }: NamespaceSpec = object.spec ?? {};
    object.spec = finalizers.length === 0 ? spec : { ...spec, finalizers };
    keepField('status', object, old);
  },
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => [
    ...validate(object),
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
  ],
  canonicalize: setNameLabel,
};

function statusErrors(object: Namespace): FieldError[] {
  const phase = object.status?.phase ?? '';
  const path = FieldPath.of('status', 'Phase');
  if (hasDeletionTimestamp(object)) {
    if (phase === 'Terminating') return [];
    return [invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")];
  }
  return phase === 'Active' ? [] : [invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty")];
}

export const namespaceStatusStrategy: Strategy<Namespace> = {
  ...namespaceStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => keepField('spec', object, old),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...statusErrors(object),
  ],
};

export const namespaceFinalizeStrategy: Strategy<Namespace> = {
  ...namespaceStrategy,
  prepareForUpdate: (_context, object, old) => keepField('status', object, old),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...finalizerErrors(object, (i) => FINALIZERS.index(i)),
  ],
};

/** Returns the finalizers with those of the garbage collector set as the options ask for. Without options, they stay unchanged. */
function withPropagation(
  finalizers: readonly string[],
  { orphanDependents, propagationPolicy }: Propagation,
): string[] {
  const asked = propagationPolicy ?? '';
  const wanted = (finalizer: string, policy: string, orphans: boolean): boolean => {
    if (orphanDependents !== undefined) return orphanDependents === orphans;
    return asked === '' ? finalizers.includes(finalizer) : asked === policy;
  };
  const kept = finalizers.filter(
    (name) => name !== FINALIZER_ORPHAN_DEPENDENTS && name !== FINALIZER_DELETE_DEPENDENTS,
  );
  if (wanted(FINALIZER_ORPHAN_DEPENDENTS, 'Orphan', true)) kept.push(FINALIZER_ORPHAN_DEPENDENTS);
  if (wanted(FINALIZER_DELETE_DEPENDENTS, 'Foreground', false)) kept.push(FINALIZER_DELETE_DEPENDENTS);
  return kept;
}

export const namespaceDeletion: DeletionStrategy<Namespace> = {
  beforeDelete: (context, object, propagation) => {
    if (hasDeletionTimestamp(object)) return namespaceFinalizers(object).length === 0 ? undefined : object;
    const { finalizers: given = [], ...meta } = object.metadata;
    const finalizers = withPropagation(given, propagation);
    return {
      ...object,
      metadata: {
        ...meta,
        ...(finalizers.length === 0 ? {} : { finalizers }),
        deletionTimestamp: formatTime(context.receivedAt),
      },
      status: { ...object.status, phase: 'Terminating' },
    };
  },
  preconditionFailed: ownPrecondition('', 'namespaces'),
  shouldDeleteDuringUpdate: (object) => namespaceFinalizers(object).length === 0,
};
