import { newInternalError } from '../../apimachinery/meta/errors.js';
import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { labelSelectorFromObject } from '../../apimachinery/selectors/label-selector-object.js';
import { LabelSelector, SelectorError } from '../../apimachinery/selectors/labels.js';
import type { GroupResource } from '../../apimachinery/meta/meta.js';
import { type Rule, ruleMayMatch, rulesOf } from './rules.js';

/** The match criteria of a webhook or a policy, parsed once per revision of its object. */
export interface MatchCriteria {
  readonly rules: readonly Rule[];
  readonly excluded: readonly Rule[];
  /** True if criteria without rules match everything (policies) instead of nothing (webhooks). */
  readonly matchesWithoutRules: boolean;
  /** True if rules also match other versions of the request's resource. */
  readonly equivalent: boolean;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
}

/** A selector, or the reason why it cannot be parsed. */
export type Selector = LabelSelector | SelectorError;

/** Throws if the selector could not be parsed. */
export function readable(selector: Selector): LabelSelector {
  if (selector instanceof LabelSelector) return selector;
  throw newInternalError(selector.message);
}

/** Returns the criteria of a webhook in a webhook configuration. */
export const webhookCriteria = (webhook: JsonObject): MatchCriteria => ({
  ...commonCriteria(webhook),
  rules: rulesOf(webhook, 'rules'),
  excluded: [],
  matchesWithoutRules: false,
});

/** Returns the criteria of a MatchResources: `matchConstraints` of a policy or `matchResources` of a binding. */
export const policyCriteria = (resources: JsonObject | undefined): MatchCriteria => ({
  ...commonCriteria(resources ?? {}),
  rules: rulesOf(resources, 'resourceRules'),
  excluded: rulesOf(resources, 'excludeResourceRules'),
  matchesWithoutRules: true,
});

type CommonCriteria = Pick<MatchCriteria, 'equivalent' | 'namespaceSelector' | 'objectSelector'>;

const commonCriteria = (owner: JsonObject): CommonCriteria => ({
  equivalent: stringAt(owner, 'matchPolicy') === 'Equivalent',
  namespaceSelector: selectorAt(owner, 'namespaceSelector'),
  objectSelector: selectorAt(owner, 'objectSelector'),
});

/** Stored objects have been defaulted: a missing selector selects everything. */
function selectorAt(owner: JsonObject, field: string): Selector {
  try {
    return labelSelectorFromObject(objectAt(owner, field) ?? {});
  } catch (error) {
    if (error instanceof SelectorError) return error;
    throw error;
  }
}

/**
 * Reports whether the criteria may match any request for a resource. Groups that share objects (events) are equivalent,
 * so with matchPolicy Equivalent the group is ignored too; `match` decides.
 */
export function mayMatchResource(criteria: MatchCriteria, { group, resource }: GroupResource): boolean {
  if (criteria.rules.length === 0) return criteria.matchesWithoutRules;
  return criteria.rules.some((rule) => ruleMayMatch(rule, criteria.equivalent ? undefined : group, resource));
}
