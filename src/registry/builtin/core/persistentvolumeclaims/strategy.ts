import { type FieldError, FieldPath, forbidden, notSupported } from '../../../../apimachinery/meta/field-error.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import { deepEqual, isObject, type JsonObject } from '../../../../apimachinery/json/json.js';
import { internalDiff } from '../../../../apimachinery/scheme/internal-diff.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { claimSpecErrors } from '../../shared/claim-spec.js';
import { ensureObject, keepField } from '../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import { validateImmutableField } from '../../../../apimachinery/validation/object-meta.js';
import { resets } from '../../shared/resource-type.js';
import {
  basicQuantityErrors,
  fractionWarnings,
  isNative,
  quantityErrors,
  quantityOf,
  roundQuantities,
  roundResources,
} from '../../shared/resources.js';
import { CLASS_ANNOTATION, CLASS_DEPRECATED } from '../../shared/volumes.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';

const SPEC = FieldPath.of('spec');
const STATUS = FieldPath.of('status');
const IMMUTABLE =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

const requestsOf = (spec: core.PersistentVolumeClaimSpec | undefined): Record<string, string> | undefined =>
  spec?.resources?.requests;

const validate = (object: core.PersistentVolumeClaim): FieldError[] => [
  ...validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain),
  ...claimSpecErrors(object.spec ?? {}, SPEC),
];

/** Returns 'moved' if the storage class is only set in another place than before, 'new' if it is set for the first time. */
function sameClass(object: core.PersistentVolumeClaim, old: core.PersistentVolumeClaim): 'moved' | 'new' | undefined {
  const name = object.spec?.storageClassName;
  if (name === undefined || old.spec?.storageClassName !== undefined) return undefined;
  const before = old.metadata.annotations?.[CLASS_ANNOTATION];
  const now = object.metadata.annotations?.[CLASS_ANNOTATION];
  if (before === undefined) return 'new';
  if (before !== name) return undefined;
  return now === undefined || now === before ? 'moved' : 'new';
}

/** Returns both specs without what an update may change: a claim may get a volume, and a bound one may request more. */
function fixedParts(
  object: core.PersistentVolumeClaim,
  old: core.PersistentVolumeClaim,
): readonly [before: JsonObject, after: JsonObject] {
  const before: core.PersistentVolumeClaimSpec = { ...old.spec };
  const after: core.PersistentVolumeClaimSpec = { ...object.spec };
  if (!before.volumeName && after.volumeName !== undefined) before.volumeName = after.volumeName;
  if (sameClass(object, old) !== undefined) delete after.storageClassName;
  if (old.status?.phase !== 'Bound') return [before, after];
  const requests = requestsOf(after);
  if (requests !== undefined) {
    const fixed: JsonObject = { ...requests, storage: requestsOf(before)?.['storage'] };
    after.resources = { ...after.resources, requests: fixed as Record<string, string> };
  }
  keepField('volumeAttributesClassName', after, before);
  return [before, after];
}

function sizeErrors(object: core.PersistentVolumeClaim, old: core.PersistentVolumeClaim): FieldError[] {
  const size = quantityOf(requestsOf(object.spec)?.['storage']);
  const before = quantityOf(requestsOf(old.spec)?.['storage']);
  if (size.compare(before) >= 0) return [];
  const has = old.status?.capacity?.['storage'];
  if (size.compare(quantityOf(has)) > 0) return [];
  const path = SPEC.child('resources').child('requests').child('storage');
  return [forbidden(path, 'field can not be less than status.capacity')];
}

function attributesClassErrors(object: core.PersistentVolumeClaim, old: core.PersistentVolumeClaim): FieldError[] {
  const now = object.spec?.volumeAttributesClassName;
  if (now === old.spec?.volumeAttributesClassName) return [];
  if (old.status?.currentVolumeAttributesClassName === undefined) return [];
  const path = SPEC.child('volumeAttributesClassName');
  const when = 'is forbidden when status.currentVolumeAttributesClassName is not nil';
  if (now === undefined) return [forbidden(path, `update to nil ${when}`)];
  return now === '' ? [forbidden(path, `update to empty string ${when}`)] : [];
}

function updateErrors(object: core.PersistentVolumeClaim, old: core.PersistentVolumeClaim): FieldError[] {
  const errors = [...validateCoreMetaUpdate(object.metadata, old.metadata), ...validate(object)];
  if (sameClass(object, old) !== 'moved') {
    const [now, was] = [object, old].map(({ metadata }) => metadata.annotations?.[CLASS_ANNOTATION] ?? '');
    errors.push(
      ...validateImmutableField(now, was, FieldPath.of('metadata').child('annotations').child(CLASS_ANNOTATION)),
    );
  }
  const [before, after] = fixedParts(object, old);
  if (!deepEqual(after, before)) {
    const why = `${IMMUTABLE}\n${internalDiff('PersistentVolumeClaimSpec', before, after)}`;
    errors.push(forbidden(SPEC, why));
  }
  const [mode, modeBefore] = [object, old].map((claim) => claim.spec?.volumeMode);
  errors.push(
    ...sizeErrors(object, old),
    ...validateImmutableField(mode, modeBefore, FieldPath.of('volumeMode')),
    ...attributesClassErrors(object, old),
  );
  return errors;
}

const RESIZES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort();

function keyErrors(name: string, path: FieldPath): FieldError[] {
  const errors = qualifiedNameErrors(name, path);
  if (errors.length > 0 || !isNative(name) || name === 'storage') return errors;
  return [notSupported(path, name, ['storage'])];
}

/** Validates the capacity of a claim, its allocated resources, and the status of their resizing. */
function claimStatusErrors(claim: core.PersistentVolumeClaim): FieldError[] {
  const status = claim.status;
  const capacity = status?.capacity ?? {};
  const resizes = status?.allocatedResourceStatuses ?? {};
  const allocated = status?.allocatedResources ?? {};
  const resizesAt = STATUS.child('allocatedResourceStatuses');
  const allocatedAt = STATUS.child('allocatedResources');
  return [
    ...Object.keys(capacity).flatMap((name) => basicQuantityErrors(capacity[name], STATUS.child('capacity').key(name))),
    ...Object.keys(resizes).flatMap((name) => [
      ...keyErrors(name, resizesAt),
      // kube-apiserver reports the resource as the bad value, where it means the resize status.
      ...(RESIZES.includes(resizes[name] ?? '') ? [] : [notSupported(resizesAt, name, RESIZES)]),
    ]),
    ...Object.keys(allocated).flatMap((name) => {
      const errors = keyErrors(name, allocatedAt);
      if (errors.length > 0) return errors;
      const at = allocatedAt.key(name);
      const basic = basicQuantityErrors(allocated[name], at);
      return basic.length > 0 ? basic : quantityErrors('storage', quantityOf(allocated[name]), at);
    }),
  ];
}

export function applyClaimDefaults(object: core.PersistentVolumeClaim): void {
  const spec = ensureObject(object, 'spec');
  const status = ensureObject(object, 'status');
  status.phase ||= 'Pending';
  spec.volumeMode ??= 'Filesystem';
  roundResources(spec);
  roundQuantities(status.capacity);
  roundQuantities(status.allocatedResources);
}

const isVolumeOrSnapshot = (source: core.TypedLocalObjectReference): boolean => {
  const [group, kind] = [source.apiGroup ?? '', source.kind ?? ''];
  return (
    (group === '' && kind === 'PersistentVolumeClaim') ||
    (group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot')
  );
};

/** Synchronizes dataSource and dataSourceRef, of which the older one, dataSource, accepts less. */
function normalizeSources(object: core.PersistentVolumeClaim, old: core.PersistentVolumeClaim | undefined): void {
  const spec = object.spec;
  if (spec === undefined) return;
  const before: core.PersistentVolumeClaimSpec = old?.spec ?? {};
  // Sources in other namespaces are a feature that is off by default in Kubernetes.
  const foreign = (spec.dataSourceRef?.namespace ?? '') !== '';
  if (foreign && before.dataSourceRef === undefined) delete spec.dataSourceRef;
  const { dataSource, dataSourceRef } = spec;
  const kept = before.dataSource !== undefined || before.dataSourceRef !== undefined;
  if (isObject(dataSource) && dataSourceRef === undefined && !kept && !isVolumeOrSnapshot(dataSource)) {
    delete spec.dataSource;
    return;
  }
  if (isObject(dataSource) && dataSourceRef === undefined) spec.dataSourceRef = { ...dataSource };
  else if (isObject(dataSourceRef) && dataSource === undefined && !dataSourceRef.namespace) {
    spec.dataSource = { ...dataSourceRef };
  }
}

function warnings(object: core.PersistentVolumeClaim): string[] {
  const texts: string[] = [];
  if (object.metadata.annotations?.[CLASS_ANNOTATION] !== undefined) {
    texts.push(`metadata.annotations[${CLASS_ANNOTATION}]: ${CLASS_DEPRECATED}`);
  }
  const resources = object.spec?.resources;
  for (const part of ['requests', 'limits'] as const) {
    texts.push(...fractionWarnings(resources?.[part], SPEC.child('resources', part), 'storage'));
  }
  return texts;
}

export const claimStrategy: Strategy<core.PersistentVolumeClaim> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    object.status = { phase: 'Pending' };
    normalizeSources(object, undefined);
  },
  prepareForUpdate: (_context, object, old) => {
    keepField('status', object, old);
    normalizeSources(object, old);
  },
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => updateErrors(object, old),
  warningsOnCreate: (_context, object) => warnings(object),
  warningsOnUpdate: (_context, object) => warnings(object),
};

export const claimStatusStrategy: Strategy<core.PersistentVolumeClaim> = {
  ...claimStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => keepField('spec', object, old),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...claimStatusErrors(object),
  ],
  warningsOnUpdate: () => [],
};
