import { type FieldError, FieldPath, invalid, required, tooLong } from '../../../../apimachinery/meta/field-error.js';
import { goKind, JsonError, parseJson } from '../../../../apimachinery/json/decode.js';
import type { Secret } from '../../../../apimachinery/generated/core.js';
import { isObject, type JsonObject } from '../../../../apimachinery/json/json.js';
import { configMapKeyErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateImmutableField } from '../../../../apimachinery/validation/object-meta.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { decodedLength, entriesOf, immutableErrors, MAX_DATA_SIZE } from '../configmaps/strategy.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import { keyPairProblem } from './tls-warnings.js';

const DATA = FieldPath.of('data');
const SERVICE_ACCOUNT_NAME = 'kubernetes.io/service-account.name';
const REDACTED = '<secret contents redacted>';

const decodeText = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

/** Returns Go's error for bytes that are not a JSON object, or undefined if they are. */
function jsonProblem(base64: string): string | undefined {
  try {
    const value = parseJson(Buffer.from(base64, 'base64'));
    if (isObject(value) || value === null) return undefined;
    return `json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`;
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

function dockerConfigErrors(data: ReadonlyMap<string, string>, key: string): FieldError[] {
  const value = data.get(key);
  if (value === undefined) return [required(DATA.key(key))];
  const problem = jsonProblem(value);
  return problem === undefined ? [] : [invalid(DATA.key(key), REDACTED, problem)];
}

function typeErrors(object: Secret, data: ReadonlyMap<string, string>): FieldError[] {
  switch (object.type) {
    case 'kubernetes.io/service-account-token':
      return (object.metadata.annotations?.[SERVICE_ACCOUNT_NAME] ?? '') === ''
        ? [required(FieldPath.of('metadata', 'annotations').key(SERVICE_ACCOUNT_NAME))]
        : [];
    case 'kubernetes.io/dockercfg':
      return dockerConfigErrors(data, '.dockercfg');
    case 'kubernetes.io/dockerconfigjson':
      return dockerConfigErrors(data, '.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      return data.has('username') || data.has('password')
        ? []
        : [required(DATA.key('username')), required(DATA.key('password'))];
    case 'kubernetes.io/ssh-auth':
      return (data.get('ssh-privatekey') ?? '') === '' ? [required(DATA.key('ssh-privatekey'))] : [];
    case 'kubernetes.io/tls':
      return ['tls.crt', 'tls.key'].filter((key) => !data.has(key)).map((key) => required(DATA.key(key)));
    default:
      return [];
  }
}

function validate(object: Secret): FieldError[] {
  const errors = validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain);
  const data = new Map(entriesOf(object.data));
  let size = 0;
  for (const [key, value] of data) {
    errors.push(...configMapKeyErrors(key, DATA.key(key)));
    size += decodedLength(value);
  }
  if (size > MAX_DATA_SIZE) errors.push(tooLong(DATA, MAX_DATA_SIZE));
  errors.push(...typeErrors(object, data));
  return errors;
}

function warnings(object: Secret): string[] {
  if (object.type !== 'kubernetes.io/tls') return [];
  const data = new Map(entriesOf(object.data));
  const problem = keyPairProblem(decodeText(data.get('tls.crt') ?? ''), decodeText(data.get('tls.key') ?? ''));
  return problem === undefined ? [] : [problem];
}

/** Sets the type, and moves `stringData` into `data`, which is what is stored. */
export function applySecretDefaults(object: Secret): void {
  object.type ||= 'Opaque';
  const given = entriesOf(object.stringData);
  if (given.length > 0) {
    const data = { ...object.data };
    for (const [key, value] of given) data[key] = Buffer.from(value, 'utf8').toString('base64');
    object.data = data;
  }
  delete object.stringData;
  const data: JsonObject | undefined = object.data;
  // Values are bytes, which cannot be null.
  for (const key in data) if (data[key] === null) data[key] = '';
}

export const secretStrategy: Strategy<Secret> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  prepareForUpdate: (_context, object, old) => {
    object.type ||= old.type ?? '';
  },
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...validateImmutableField(object.type, old.type, FieldPath.of('type')),
    ...immutableErrors(object, old, ['data']),
    ...validate(object),
  ],
  warningsOnCreate: (_context, object) => warnings(object),
  warningsOnUpdate: (_context, object) => warnings(object),
};
