import { type FieldError, type FieldPath, invalid, notFound } from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import {
  configMapKeyErrors,
  labelErrors,
  subdomainErrors,
  toFieldErrors,
} from '../../../../../apimachinery/validation/name-errors.js';
import { isRelaxedEnvVarName, nameIsDnsSubdomain } from '../../../../../apimachinery/validation/names.js';
import type * as core from '../../../../../apimachinery/generated/core.js';
import { backstepErrors, eachErrors, fieldErrors, needed, requiredOr } from '../../../shared/checks.js';
import { fieldRefErrors, resourceRefErrors, VARIABLE_FIELDS } from './field-refs.js';

const variableName = toFieldErrors(isRelaxedEnvVarName);

/** Validates a reference to a key of a ConfigMap or Secret. */
const keyRefErrors = (ref: core.ConfigMapKeySelector, path: FieldPath): FieldError[] =>
  fieldErrors(ref, path, { name: (name = '', at) => subdomainErrors(name, at), key: needed(configMapKeyErrors) });

/** Validates a reference to a variable in a file. */
const fileRefErrors = (ref: core.FileKeySelector, path: FieldPath): FieldError[] =>
  fieldErrors(ref, path, { key: needed(variableName), volumeName: needed(labelErrors), path: needed(backstepErrors) });

const SOURCES: readonly (readonly [string, (ref: JsonObject, path: FieldPath) => FieldError[]])[] = [
  ['fieldRef', (ref, path) => fieldRefErrors(ref, path, VARIABLE_FIELDS)],
  ['resourceFieldRef', (ref, path) => resourceRefErrors(ref, path, 'implied')],
  ['configMapKeyRef', keyRefErrors],
  ['secretKeyRef', keyRefErrors],
  ['fileKeyRef', fileRefErrors],
];

function valueFromErrors(variable: core.EnvVar, path: FieldPath): FieldError[] {
  const from = variable.valueFrom;
  if (from === undefined) return [];
  const errors: FieldError[] = [];
  let count = 0;
  for (const [field, check] of SOURCES) {
    const ref = objectAt(from, field);
    if (ref === undefined) continue;
    count++;
    errors.push(...check(ref, path.child(field)));
  }
  if (count === 0) {
    const why =
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
    errors.push(invalid(path, '', why));
  } else if (variable.value) {
    errors.push(invalid(path, '', 'may not be specified when `value` is not empty'));
  } else if (count > 1) errors.push(invalid(path, '', 'may not have more than one field specified at a time'));
  return errors;
}

/** Validates an environment variable of a container. */
export const envErrors = (variable: core.EnvVar, path: FieldPath): FieldError[] =>
  fieldErrors(variable, path, { name: needed(variableName), valueFrom: (_, at) => valueFromErrors(variable, at) });

const namePrefix = toFieldErrors((name) => nameIsDnsSubdomain(name, 'prefix'));

/** Validates the ConfigMaps and Secrets whose keys become environment variables. */
export function envFromErrors(sources: readonly core.EnvFromSource[], path: FieldPath): FieldError[] {
  return eachErrors(sources, path, (source, at) => {
    const prefix = source.prefix ?? '';
    const errors = prefix === '' ? [] : variableName(prefix, at.child('prefix'));
    const refs = (['configMapRef', 'secretRef'] as const).filter((field) => source[field] !== undefined);
    for (const field of refs) {
      errors.push(...requiredOr(source[field]?.name ?? '', at.child(field, 'name'), namePrefix));
    }
    // kube-apiserver reports the list, not the item.
    if (refs.length === 0) errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    else if (refs.length > 1) {
      errors.push(invalid(path, '', 'may not have more than one field specified at a time'));
    }
    return errors;
  });
}

/** Requires files with environment variables to be in emptyDir volumes, which the pod itself fills. */
export function envFileErrors(
  containers: readonly (readonly [core.Container, FieldPath])[],
  volumes: readonly core.Volume[],
): FieldError[] {
  const byName = new Map(volumes.map((volume) => [volume.name ?? '', volume]));
  return containers.flatMap(([container, path]) =>
    (container.env ?? []).flatMap((variable, i) => {
      const ref = variable.valueFrom?.fileKeyRef;
      if (ref === undefined) return [];
      const name = ref.volumeName ?? '';
      const at = path.child('env').index(i).child('valueFrom', 'fileKeyRef', 'volumeName');
      const volume = byName.get(name);
      if (volume === undefined) return [notFound(at, name)];
      return volume.emptyDir === undefined ? [invalid(at, name, 'referenced volume must be of type emptyDir')] : [];
    }),
  );
}
