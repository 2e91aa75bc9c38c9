import { type FieldError, type FieldPath, invalid, required } from '../../../apimachinery/meta/field-error.js';
import { deepEqual } from '../../../apimachinery/json/json.js';
import { validateLabelSelector } from '../../../apimachinery/selectors/label-selector-object.js';
import { labelErrors, subdomainErrors, subdomainErrorsIfSet } from '../../../apimachinery/validation/name-errors.js';
import type * as core from '../../../apimachinery/generated/core.js';
import { choiceIfSet } from './checks.js';
import { needs } from './volume-sources.js';
import { accessModeErrors, positiveQuantityErrors, VOLUME_MODES } from './volumes.js';

/** Validates a data source of a claim. */
function sourceErrors(
  source: core.TypedLocalObjectReference | core.TypedObjectReference,
  path: FieldPath,
): FieldError[] {
  const errors = needs('name', 'kind')(source, path);
  const [group, kind] = [source.apiGroup ?? '', source.kind ?? ''];
  if (group === '' && kind !== 'PersistentVolumeClaim') {
    const why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    errors.push(invalid(path, kind, why));
  }
  if (group === '') return errors;
  return [...errors, ...subdomainErrors(group, path.child('apiGroup'))];
}

function sourcesErrors(spec: core.PersistentVolumeClaimSpec, path: FieldPath): FieldError[] {
  const source = spec.dataSource;
  const ref = spec.dataSourceRef;
  const errors: FieldError[] = [];
  if (source !== undefined) errors.push(...sourceErrors(source, path.child('dataSource')));
  if (ref === undefined) return errors;
  errors.push(...sourceErrors(ref, path.child('dataSourceRef')));
  const namespace = ref.namespace ?? '';
  if (namespace !== '') errors.push(...labelErrors(namespace, path.child('dataSourceRef', 'namespace')));
  if (source === undefined) return errors;
  // Go prints a field path, which has no exported fields, as an empty object.
  if (namespace !== '') {
    errors.push(invalid(path, {}, 'may not be specified when dataSourceRef.namespace is specified'));
  } else if (['apiGroup', 'kind', 'name'].some((field) => !deepEqual(source[field] ?? null, ref[field] ?? null))) {
    errors.push(invalid(path, {}, 'must match dataSourceRef'));
  }
  return errors;
}

/** Validates the spec of a claim. */
export function claimSpecErrors(spec: core.PersistentVolumeClaimSpec, path: FieldPath): FieldError[] {
  const modes = path.child('accessModes');
  const errors = accessModeErrors(spec.accessModes, modes, 'at least 1 access mode is required', () =>
    validateLabelSelector(spec.selector, path.child('selector')),
  );
  const storage = spec.resources?.requests?.['storage'];
  const at = path.child('resources').key('storage');
  errors.push(...(storage === undefined ? [required(at)] : positiveQuantityErrors(storage, at)));
  errors.push(...subdomainErrorsIfSet(spec.storageClassName ?? '', path.child('storageClassName')));
  return [
    ...errors,
    ...choiceIfSet(spec.volumeMode, path.child('volumeMode'), VOLUME_MODES),
    ...sourcesErrors(spec, path),
    ...subdomainErrorsIfSet(spec.volumeAttributesClassName ?? '', path.child('volumeAttributesClassName')),
  ];
}
