import { interpretTypeMeta, JsonError } from '../../apimachinery/json/decode.js';
import {
  FieldTypeError,
  boolField,
  objectsField,
  stringField,
  stringsField,
} from '../../apimachinery/json/go-fields.js';
import { isObject, type JsonObject } from '../../apimachinery/json/json.js';
import { kindNotRegistered } from '../../apimachinery/meta/meta.js';
import { parseYaml } from '../../apimachinery/yaml/yaml.js';

/** Thrown for a policy file that cannot be used. */
export class AuditPolicyError extends Error {
  override readonly name = 'AuditPolicyError';
}

/** A policy as written in the file, with only its types checked. Missing fields are empty. */
export interface WrittenPolicy {
  readonly omitStages: readonly string[];
  readonly omitManagedFields: boolean;
  readonly rules: readonly WrittenRule[];
}

export interface WrittenRule {
  readonly level: string;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly namespaces: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly string[];
  readonly omitManagedFields: boolean | undefined;
}

interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** Reads an audit.k8s.io/v1 Policy in YAML or JSON and checks types as Go's decoder does. Throws AuditPolicyError. */
export function readPolicyFile(text: string): WrittenPolicy {
  try {
    return decode(text);
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof FieldTypeError) && !(error instanceof JsonError))
      throw error;
    throw new AuditPolicyError(`failed decoding: ${error.message}`);
  }
}

class DecodeError extends Error {}

function decode(text: string): WrittenPolicy {
  const { value } = parseYaml(text);
  const { apiVersion, kind } = interpretTypeMeta(value);
  // Without apiVersion, Go's decoder assumes the internal version, which is never written to files.
  if (apiVersion === '') {
    throw new AuditPolicyError('unknown group version field audit.k8s.io/__internal, Kind=Policy in policy');
  }
  if (apiVersion !== 'audit.k8s.io/v1' || (kind !== 'Policy' && kind !== '')) {
    throw new DecodeError(kindNotRegistered(apiVersion, kind));
  }
  const policy = isObject(value) ? value : {};
  return {
    omitStages: stringsField(policy['omitStages'], 'Policy.omitStages', 'v1.Stage'),
    omitManagedFields: boolField(policy['omitManagedFields'], 'Policy.omitManagedFields') ?? false,
    rules: objectsField(policy['rules'], 'Policy.rules', 'v1.PolicyRule').map(readRule),
  };
}

function readRule(rule: JsonObject): WrittenRule {
  const list = (name: string): readonly string[] => stringsField(rule[name], `PolicyRule.rules.${name}`);
  return {
    level: stringField(rule['level'], 'PolicyRule.rules.level', 'v1.Level'),
    users: list('users'),
    userGroups: list('userGroups'),
    verbs: list('verbs'),
    namespaces: list('namespaces'),
    resources: objectsField(rule['resources'], 'PolicyRule.rules.resources', 'v1.GroupResources').map(readGroup),
    nonResourceURLs: list('nonResourceURLs'),
    omitStages: stringsField(rule['omitStages'], 'PolicyRule.rules.omitStages', 'v1.Stage'),
    omitManagedFields: boolField(rule['omitManagedFields'], 'PolicyRule.rules.omitManagedFields'),
  };
}

function readGroup(group: JsonObject): GroupResources {
  const at = 'GroupResources.rules.resources';
  return {
    group: stringField(group['group'], `${at}.group`),
    resources: stringsField(group['resources'], `${at}.resources`),
    resourceNames: stringsField(group['resourceNames'], `${at}.resourceNames`),
  };
}
