import {
  aggregate,
  type FieldError,
  FieldPath,
  invalid,
  notSupported,
  required,
} from '../../apimachinery/meta/field-error.js';
import { nameIsDnsSubdomain } from '../../apimachinery/validation/names.js';
import type { AuthorizerAttributes } from '../../authorization/authorizer/interfaces.js';
import { AuditPolicyError, readPolicyFile, type WrittenRule } from './policy-file.js';
import { trimRight } from '../../util/text/trim.js';

export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type Level = (typeof LEVELS)[number];
const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type Stage = (typeof STAGES)[number];

/** The decision on what to record of a request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<string>;
  readonly omitManagedFields: boolean;
}

type Rule = AuditDecision & Omit<WrittenRule, keyof AuditDecision>;

const isLevel = (text: string): text is Level => LEVELS.some((level) => level === text);

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

function ruleErrors(rule: WrittenRule, path: FieldPath): FieldError[] {
  const { level } = rule;
  const errors: FieldError[] = [];
  if (level === '') errors.push(required(path.child('level')));
  else if (!isLevel(level)) errors.push(notSupported(path.child('level'), level, LEVELS));
  errors.push(...urlErrors(rule.nonResourceURLs, path.child('nonResourceURLs')));
  for (const { group, resources, resourceNames } of rule.resources) {
    const at = path.child('resources');
    const bad = group === '' || group === '*' ? [] : nameIsDnsSubdomain(group);
    if (bad.length > 0) errors.push(invalid(at.child('group'), group, bad.join(',')));
    if (resourceNames.length > 0 && resources.length === 0) {
      const why = 'using resourceNames requires at least one resource';
      errors.push(invalid(at.child('resourceNames'), [...resourceNames], why));
    }
  }
  errors.push(...stageErrors(rule.omitStages, path.child('omitStages')));
  if (rule.nonResourceURLs.length > 0 && (rule.resources.length > 0 || rule.namespaces.length > 0)) {
    const why = 'rules cannot apply to both regular resources and non-resource URLs';
    errors.push(invalid(path.child('nonResourceURLs'), [...rule.nonResourceURLs], why));
  }
  return errors;
}

/** Decides what to record of each request: the first matching rule applies. */
export class AuditPolicy {
  private constructor(
    private readonly rules: readonly Rule[],
    private readonly fallback: AuditDecision,
  ) {}

  /** Reads an audit.k8s.io/v1 Policy. Throws AuditPolicyError. */
  static parse(text: string): AuditPolicy {
    const { rules: written, omitStages, omitManagedFields } = readPolicyFile(text);
    const errors = stageErrors(omitStages, FieldPath.of('omitStages'));
    const rules = written.map((rule, i): Rule => {
      const { level } = rule;
      errors.push(...ruleErrors(rule, FieldPath.of('rules').index(i)));
      return {
        ...rule,
        level: isLevel(level) ? level : 'None',
        omitStages: new Set([...omitStages, ...rule.omitStages]),
        omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
      };
    });
    if (errors.length > 0) throw new AuditPolicyError(aggregate(errors));
    if (rules.length === 0) throw new AuditPolicyError('loaded illegal policy with 0 rules');
    return new AuditPolicy(rules, { level: 'None', omitStages: new Set(omitStages), omitManagedFields });
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
  return spec === '*' || spec === path || (spec.endsWith('*') && path.startsWith(trimRight(spec, '*')));
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
