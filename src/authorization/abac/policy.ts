import { JsonError, interpretTypeMeta, parseJson } from '../../apimachinery/json/decode.js';
import { FieldTypeError, boolField, objectField, stringField } from '../../apimachinery/json/go-fields.js';
import { isObject, type JsonObject } from '../../apimachinery/json/json.js';
import { kindNotRegistered, parseGroupVersion } from '../../apimachinery/meta/meta.js';
import { ALL_AUTHENTICATED } from '../../authentication/user/user.js';

const GROUP = 'abac.authorization.kubernetes.io';

/** One line of a policy file, in the internal form. An empty field matches only requests without a value for it. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

/** A policy file that cannot be used; the server then refuses to start. */
export class PolicyFileError extends Error {
  override readonly name = 'PolicyFileError';
}

/** Parses a policy file: one JSON object per line; blank lines and comments (`#`) are skipped. */
export function parsePolicyFile(path: string, text: string): readonly AbacPolicy[] {
  const policies: AbacPolicy[] = [];
  text.split('\n').forEach((raw, index) => {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return;
    try {
      policies.push(readPolicy(line));
    } catch (error) {
      if (!(error instanceof LineError || error instanceof FieldTypeError || error instanceof JsonError)) throw error;
      const why =
        error instanceof JsonError ? `couldn't get version/kind; json parse error: ${error.message}` : error.message;
      throw new PolicyFileError(`error reading policy file ${path}, line ${index + 1}: ${line}: ${why}`);
    }
  });
  return policies;
}

class LineError extends Error {}

function readPolicy(line: string): AbacPolicy {
  const value = parseJson(line);
  const { apiVersion, kind } = interpretTypeMeta(value);
  const object = isObject(value) ? value : {};
  if (apiVersion === '' || kind === '') return convertUnversioned(object);
  const version = parseGroupVersion(apiVersion);
  const known = version?.group === GROUP && kind === 'Policy';
  if (known && version.version === 'v1beta1') return convertV1beta1(object);
  if (known && version.version === 'v0') return convertUnversioned(object);
  throw new LineError(kindNotRegistered(apiVersion, kind));
}

function convertV1beta1(object: JsonObject): AbacPolicy {
  const value = objectField(object['spec'], 'Policy.spec', 'v1beta1.PolicySpec');
  const field = (name: string): string => stringField(value[name], `PolicySpec.spec.${name}`);
  const user = field('user');
  const group = field('group');
  const everyone = user === '*' || group === '*';
  return {
    user: everyone ? '' : user,
    group: everyone ? ALL_AUTHENTICATED : group,
    readonly: boolField(value['readonly'], 'PolicySpec.spec.readonly') ?? false,
    apiGroup: field('apiGroup'),
    resource: field('resource'),
    namespace: field('namespace'),
    nonResourcePath: field('nonResourcePath'),
  };
}

/** The unversioned form has no API groups and no paths; fields that are left empty match everything. */
function convertUnversioned(object: JsonObject): AbacPolicy {
  const field = (name: string): string => stringField(object[name], `Policy.${name}`);
  const user = field('user');
  const group = field('group');
  const resource = field('resource');
  const namespace = field('namespace');
  const everyone = (user === '' && group === '') || user === '*' || group === '*';
  return {
    user: everyone ? '' : user,
    group: everyone ? ALL_AUTHENTICATED : group,
    readonly: boolField(object['readonly'], 'Policy.readonly') ?? false,
    apiGroup: '*',
    resource: resource === '' ? '*' : resource,
    namespace: namespace === '' ? '*' : namespace,
    nonResourcePath: resource === '' && namespace === '' ? '*' : '',
  };
}
