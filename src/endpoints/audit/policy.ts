import {
  aggregate,
  type FieldError,
  FieldPath,
  invalid,
  notSupported,
  required,
} from '../../apimachinery/field-error.js';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../apimachinery/json.js';
import { nameIsDnsSubdomain } from '../../apimachinery/validation/names.js';
import { parseYaml } from '../../apimachinery/yaml.js';
import type { AuthorizerAttributes } from '../../authorization/authorizer/interfaces.js';

export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type Level = (typeof LEVELS)[number];
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type Stage = (typeof STAGES)[number];

/** What is noted of a request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<string>;
  readonly omitManagedFields: boolean;
}

interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

interface Rule extends AuditDecision {
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly namespaces: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly nonResourceURLs: readonly string[];
}

/** A policy file that cannot be used. */
export class AuditPolicyError extends Error {
  override readonly name = 'AuditPolicyError';
}

const texts = (value: JsonValue | undefined): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
const objects = (value: JsonValue | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const isLevel = (text: string): text is Level => LEVELS.some((level) => level === text);

function readGroup(json: JsonObject): GroupResources {
  return {
    group: stringAt(json, 'group') ?? '',
    resources: texts(json['resources']),
    resourceNames: texts(json['resourceNames']),
  };
}

function stageErrors(stages: readonly string[], path: FieldPath): FieldError[] {
  return stages.flatMap((stage, i) =>
    STAGES.some((known) => known === stage)
      ? []
      : [invalid(path.index(i), stage, `allowed stages are ${STAGES.join(',')}`)],
  );
}

function urlErrors(urls: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  urls.forEach((url, i) => {
    if (url === '*') return;
    if (!url.startsWith('/')) {
      errors.push(invalid(path.index(i), url, "non-resource URL rules must begin with a '/' character"));
    }
    if (url.slice(0, -1).includes('*')) {
      errors.push(
        invalid(path.index(i), url, "non-resource URL wildcards '*' must be the final character of the rule"),
      );
    }
  });
  return errors;
}

function ruleErrors(rule: Rule, level: string, stages: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (level === '') errors.push(required(path.child('level')));
  else if (!isLevel(level)) errors.push(notSupported(path.child('level'), level, LEVELS));
  errors.push(...urlErrors(rule.nonResourceURLs, path.child('nonResourceURLs')));
  for (const { group, resources, resourceNames } of rule.resources) {
    const at = path.child('resources');
    const bad = group === '' || group === '*' ? [] : nameIsDnsSubdomain(group, false);
    if (bad.length > 0) errors.push(invalid(at.child('group'), group, bad.join(',')));
    if (resourceNames.length > 0 && resources.length === 0) {
      const why = 'using resourceNames requires at least one resource';
      errors.push(invalid(at.child('resourceNames'), [...resourceNames], why));
    }
  }
  errors.push(...stageErrors(stages, path.child('omitStages')));
  if (rule.nonResourceURLs.length > 0 && (rule.resources.length > 0 || rule.namespaces.length > 0)) {
    const why = 'rules cannot apply to both regular resources and non-resource URLs';
    errors.push(invalid(path.child('nonResourceURLs'), [...rule.nonResourceURLs], why));
  }
  return errors;
}

/** Says for each request what is noted of it: the first rule that fits decides. */
export class AuditPolicy {
  private constructor(
    private readonly rules: readonly Rule[],
    private readonly fallback: AuditDecision,
  ) {}

  /** Reads an audit.k8s.io/v1 Policy. Throws AuditPolicyError. */
  static parse(text: string): AuditPolicy {
    let value: JsonValue;
    try {
      ({ value } = parseYaml(text));
    } catch (error) {
      throw new AuditPolicyError(`failed decoding: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (!isObject(value)) throw new AuditPolicyError('failed decoding: the policy is not an object');
    const apiVersion = stringAt(value, 'apiVersion') ?? '';
    const kind = stringAt(value, 'kind') ?? '';
    if (apiVersion !== 'audit.k8s.io/v1' || kind !== 'Policy') {
      throw new AuditPolicyError(`unknown group version field ${apiVersion}, Kind=${kind} in policy`);
    }
    return AuditPolicy.build(value);
  }

  private static build(policy: JsonObject): AuditPolicy {
    const omitted = texts(policy['omitStages']);
    const omitManagedFields = policy['omitManagedFields'] === true;
    const errors = stageErrors(omitted, FieldPath.of('omitStages'));
    const rules = objects(policy['rules']).map((json, i): Rule => {
      const level = stringAt(json, 'level') ?? '';
      const stages = texts(json['omitStages']);
      const own = json['omitManagedFields'];
      const rule: Rule = {
        level: isLevel(level) ? level : 'None',
        omitStages: new Set([...omitted, ...stages]),
        omitManagedFields: typeof own === 'boolean' ? own : omitManagedFields,
        users: texts(json['users']),
        userGroups: texts(json['userGroups']),
        verbs: texts(json['verbs']),
        namespaces: texts(json['namespaces']),
        resources: objects(json['resources']).map(readGroup),
        nonResourceURLs: texts(json['nonResourceURLs']),
      };
      errors.push(...ruleErrors(rule, level, stages, FieldPath.of('rules').index(i)));
      return rule;
    });
    if (errors.length > 0) throw new AuditPolicyError(aggregate(errors));
    if (rules.length === 0) throw new AuditPolicyError('loaded illegal policy with 0 rules');
    return new AuditPolicy(rules, { level: 'None', omitStages: new Set(omitted), omitManagedFields });
  }

  decide(attributes: AuthorizerAttributes): AuditDecision {
    return this.rules.find((rule) => matches(rule, attributes)) ?? this.fallback;
  }
}

const allows = (list: readonly string[], value: string): boolean => list.length === 0 || list.includes(value);

function matches(rule: Rule, attributes: AuthorizerAttributes): boolean {
  const { user, verb, resourceRequest, path } = attributes;
  if (!allows(rule.users, user.name) || !allows(rule.verbs, verb)) return false;
  if (rule.userGroups.length > 0 && !user.groups.some((group) => rule.userGroups.includes(group))) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0) {
    return resourceRequest && matchesResource(rule, attributes);
  }
  if (rule.nonResourceURLs.length === 0) return true;
  return !resourceRequest && rule.nonResourceURLs.some((spec) => matchesPath(spec, path));
}

function matchesPath(spec: string, path: string): boolean {
  return spec === '*' || spec === path || (spec.endsWith('*') && path.startsWith(spec.replace(/\*+$/, '')));
}

function matchesResource(rule: Rule, attributes: AuthorizerAttributes): boolean {
  const { namespace, apiGroup, resource, subresource, name } = attributes;
  if (!allows(rule.namespaces, namespace)) return false;
  if (rule.resources.length === 0) return true;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return rule.resources.some(({ group, resources, resourceNames }) => {
    if (group !== apiGroup && group !== '*') return false;
    if (resources.length === 0) return true;
    if (!allows(resourceNames, name)) return false;
    return resources.some(
      (wanted) =>
        wanted === combined ||
        wanted === '*' ||
        (subresource !== '' && wanted === `*/${subresource}`) ||
        wanted === `${resource}/*`,
    );
  });
}
