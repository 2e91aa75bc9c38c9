import { type FieldError, FieldPath, forbidden, notSupported } from '../../../../apimachinery/meta/field-error.js';
import type { PersistentVolumeClaim } from '../../../../apimachinery/generated/core.js';
import { deepEqual, isObject, type JsonObject, objectAt, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { internalDiff } from '../../../../apimachinery/scheme/internal-diff.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { claimSpecErrors } from '../../shared/claim-spec.js';
import { ensureObject, keepField, setDefault } from '../../shared/fields.js';
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

const requestsOf = (spec: JsonObject | undefined): JsonObject | undefined =>
  objectAt(objectAt(spec, 'resources'), 'requests');

const validate = (object: PersistentVolumeClaim): FieldError[] => [
  ...validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain),
  ...claimSpecErrors(objectAt(object, 'spec') ?? {}, SPEC),
];

/** Returns 'moved' if the storage class is only set in another place than before, 'new' if it is set for the first time. */
function sameClass(object: PersistentVolumeClaim, old: PersistentVolumeClaim): 'moved' | 'new' | undefined {
  const name = objectAt(object, 'spec')?.['storageClassName'];
  if (name === undefined || objectAt(old, 'spec')?.['storageClassName'] !== undefined) return undefined;
  const before = old.metadata.annotations?.[CLASS_ANNOTATION];
  const now = object.metadata.annotations?.[CLASS_ANNOTATION];
  if (before === undefined) return 'new';
  if (before !== name) return undefined;
  return now === undefined || now === before ? 'moved' : 'new';
}

/** Returns both specs without what an update may change: a claim may get a volume, and a bound one may request more. */
function fixedParts(object: PersistentVolumeClaim, old: PersistentVolumeClaim): readonly [before: JsonObject, after: JsonObject] {
  const before = { ...objectAt(old, 'spec') };
  const after = { ...objectAt(object, 'spec') };
  if (textAt(before, 'volumeName') === '') before['volumeName'] = after['volumeName'];
  if (sameClass(object, old) !== undefined) delete after['storageClassName'];
  if (textAt(objectAt(old, 'status'), 'phase') !== 'Bound') return [before, after];
  const requests = requestsOf(after);
  if (requests !== undefined) {
    const storage = requestsOf(before)?.['storage'];
    after['resources'] = { ...objectAt(after, 'resources'), requests: { ...requests, storage } };
  }
  after['volumeAttributesClassName'] = before['volumeAttributesClassName'];
  return [before, after];
}

function sizeErrors(object: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const size = quantityOf(requestsOf(objectAt(object, 'spec'))?.['storage']);
  const before = quantityOf(requestsOf(objectAt(old, 'spec'))?.['storage']);
  if (size.compare(before) >= 0) return [];
  const has = objectAt(objectAt(old, 'status'), 'capacity')?.['storage'];
  if (size.compare(quantityOf(has)) > 0) return [];
  const path = SPEC.child('resources').child('requests').child('storage');
  return [forbidden(path, 'field can not be less than status.capacity')];
}

function attributesClassErrors(object: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const now = objectAt(object, 'spec')?.['volumeAttributesClassName'];
  if (now === objectAt(old, 'spec')?.['volumeAttributesClassName']) return [];
  if (objectAt(old, 'status')?.['currentVolumeAttributesClassName'] === undefined) return [];
  const path = SPEC.child('volumeAttributesClassName');
  const when = 'is forbidden when status.currentVolumeAttributesClassName is not nil';
  if (now === undefined) return [forbidden(path, `update to nil ${when}`)];
  return now === '' ? [forbidden(path, `update to empty string ${when}`)] : [];
}

function updateErrors(object: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
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
  const [mode, modeBefore] = [object, old].map((claim) => objectAt(claim, 'spec')?.['volumeMode']);
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
function claimStatusErrors(claim: PersistentVolumeClaim): FieldError[] {
  const status = objectAt(claim, 'status');
  const capacity = objectAt(status, 'capacity') ?? {};
  const resizes = objectAt(status, 'allocatedResourceStatuses') ?? {};
  const allocated = objectAt(status, 'allocatedResources') ?? {};
  const resizesAt = STATUS.child('allocatedResourceStatuses');
  const allocatedAt = STATUS.child('allocatedResources');
  return [
    ...Object.keys(capacity).flatMap((name) => basicQuantityErrors(capacity[name], STATUS.child('capacity').key(name))),
    ...Object.keys(resizes).flatMap((name) => [
      ...keyErrors(name, resizesAt),
      // kube-apiserver reports the resource as the bad value, where it means the resize status.
      ...(RESIZES.includes(textAt(resizes, name)) ? [] : [notSupported(resizesAt, name, RESIZES)]),
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

export function applyClaimDefaults(object: PersistentVolumeClaim): void {
  const spec = ensureObject(object, 'spec');
  const status = ensureObject(object, 'status');
  setDefault(status, 'phase', 'Pending');
  spec['volumeMode'] ??= 'Filesystem';
  roundResources(spec);
  roundQuantities(objectAt(status, 'capacity'));
  roundQuantities(objectAt(status, 'allocatedResources'));
}

const isVolumeOrSnapshot = (source: JsonObject): boolean => {
  const [group, kind] = [textAt(source, 'apiGroup'), textAt(source, 'kind')];
  return (
    (group === '' && kind === 'PersistentVolumeClaim') ||
    (group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot')
  );
};

/** Synchronizes dataSource and dataSourceRef, of which the older one, dataSource, accepts less. */
function normalizeSources(object: PersistentVolumeClaim, old: PersistentVolumeClaim | undefined): void {
  const spec = objectAt(object, 'spec');
  if (spec === undefined) return;
  const before = objectAt(old, 'spec') ?? {};
  // Sources in other namespaces are a feature that is off by default in Kubernetes.
  const foreign = textAt(objectAt(spec, 'dataSourceRef'), 'namespace') !== '';
  if (foreign && before['dataSourceRef'] === undefined) delete spec['dataSourceRef'];
  const { dataSource, dataSourceRef } = spec;
  const kept = before['dataSource'] !== undefined || before['dataSourceRef'] !== undefined;
  if (isObject(dataSource) && dataSourceRef === undefined && !kept && !isVolumeOrSnapshot(dataSource)) {
    delete spec['dataSource'];
    return;
  }
  if (isObject(dataSource) && dataSourceRef === undefined) spec['dataSourceRef'] = { ...dataSource };
  else if (isObject(dataSourceRef) && dataSource === undefined && textAt(dataSourceRef, 'namespace') === '') {
    spec['dataSource'] = { ...dataSourceRef };
  }
}

function warnings(object: PersistentVolumeClaim): string[] {
  const texts: string[] = [];
  if (object.metadata.annotations?.[CLASS_ANNOTATION] !== undefined) {
    texts.push(`metadata.annotations[${CLASS_ANNOTATION}]: ${CLASS_DEPRECATED}`);
  }
  const resources = objectAt(objectAt(object, 'spec'), 'resources');
  for (const part of ['requests', 'limits']) {
    texts.push(...fractionWarnings(objectAt(resources, part), SPEC.child('resources', part), 'storage'));
  }
  return texts;
}

export const claimStrategy: Strategy<PersistentVolumeClaim> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    object['status'] = { phase: 'Pending' };
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

export const claimStatusStrategy: Strategy<PersistentVolumeClaim> = {
  ...claimStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => keepField('spec', object, old),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...claimStatusErrors(object),
  ],
  warningsOnUpdate: () => [],
};
