import {
  type FieldError,
  type FieldPath,
  invalid,
  notFound,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../../../apimachinery/json/values.js';
import { labelErrors, subdomainErrors } from '../../../../../apimachinery/validation/name-errors.js';
import {
  isConfigMapKey,
  isRelaxedEnvVarName,
  nameIsDnsSubdomain,
} from '../../../../../apimachinery/validation/names.js';
import { backstepErrors } from '../../../shared/checks.js';
import { fieldRefErrors, resourceRefErrors, VARIABLE_FIELDS } from './field-refs.js';

const variableName = (name: string, path: FieldPath): FieldError[] =>
  isRelaxedEnvVarName(name).map((text) => invalid(path, name, text));

const requiredOr = (
  value: string,
  path: FieldPath,
  check: (value: string, path: FieldPath) => FieldError[],
): FieldError[] => (value === '' ? [required(path)] : check(value, path));

/** Validates a reference to a key of a ConfigMap or Secret. */
function keyRefErrors(ref: JsonObject, path: FieldPath): FieldError[] {
  const name = textOf(ref['name']);
  return [
    ...subdomainErrors(name, path.child('name')),
    ...requiredOr(textOf(ref['key']), path.child('key'), (key, at) =>
      isConfigMapKey(key).map((text) => invalid(at, key, text)),
    ),
  ];
}

/** Validates a reference to a variable in a file. */
const fileRefErrors = (ref: JsonObject, path: FieldPath): FieldError[] => [
  ...requiredOr(textOf(ref['key']), path.child('key'), variableName),
  ...requiredOr(textOf(ref['volumeName']), path.child('volumeName'), labelErrors),
  ...requiredOr(textOf(ref['path']), path.child('path'), backstepErrors),
];

const SOURCES: readonly (readonly [string, (ref: JsonObject, path: FieldPath) => FieldError[]])[] = [
  ['fieldRef', (ref, path) => fieldRefErrors(ref, path, VARIABLE_FIELDS)],
  ['resourceFieldRef', (ref, path) => resourceRefErrors(ref, path, 'implied')],
  ['configMapKeyRef', keyRefErrors],
  ['secretKeyRef', keyRefErrors],
  ['fileKeyRef', fileRefErrors],
];

function valueFromErrors(variable: JsonObject, path: FieldPath): FieldError[] {
  const from = objectAt(variable, 'valueFrom');
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
  } else if (textOf(variable['value']) !== '') {
    errors.push(invalid(path, '', 'may not be specified when `value` is not empty'));
  } else if (count > 1) errors.push(invalid(path, '', 'may not have more than one field specified at a time'));
  return errors;
}

/** Validates the environment variables of a container. */
export function envErrors(variables: readonly JsonObject[], path: FieldPath): FieldError[] {
  return variables.flatMap((variable, i) => [
    ...requiredOr(textOf(variable['name']), path.index(i).child('name'), variableName),
    ...valueFromErrors(variable, path.index(i).child('valueFrom')),
  ]);
}

/** Validates the ConfigMaps and Secrets whose keys become environment variables. */
export function envFromErrors(sources: readonly JsonObject[], path: FieldPath): FieldError[] {
  return sources.flatMap((source, i) => {
    const at = path.index(i);
    const prefix = textOf(source['prefix']);
    const errors = prefix === '' ? [] : variableName(prefix, at.child('prefix'));
    const refs = ['configMapRef', 'secretRef'].filter((field) => objectAt(source, field) !== undefined);
    for (const field of refs) {
      const name = textOf(objectAt(source, field)?.['name']);
      errors.push(
        ...requiredOr(name, at.child(field, 'name'), (given, where) =>
          nameIsDnsSubdomain(given, 'prefix').map((text) => invalid(where, given, text)),
        ),
      );
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
  containers: readonly (readonly [JsonObject, FieldPath])[],
  volumes: readonly JsonObject[],
): FieldError[] {
  const byName = new Map(volumes.map((volume) => [textOf(volume['name']), volume]));
  return containers.flatMap(([container, path]) =>
    objectsOf(container['env']).flatMap((variable, i) => {
      const ref = objectAt(objectAt(variable, 'valueFrom'), 'fileKeyRef');
      if (ref === undefined) return [];
      const name = textOf(ref['volumeName']);
      const at = path.child('env').index(i).child('valueFrom', 'fileKeyRef', 'volumeName');
      const volume = byName.get(name);
      if (volume === undefined) return [notFound(at, name)];
      return objectAt(volume, 'emptyDir') === undefined
        ? [invalid(at, name, 'referenced volume must be of type emptyDir')]
        : [];
    }),
  );
}
