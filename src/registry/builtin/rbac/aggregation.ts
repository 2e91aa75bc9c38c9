import type { LabelSelector as LabelSelectorObject } from '../../../apimachinery/generated/meta.js';
import type { ClusterRole, PolicyRule } from '../../../apimachinery/generated/rbac.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { labelSelectorFromObject } from '../../../apimachinery/selectors/label-selector-object.js';
import { SelectorError, type LabelSelector } from '../../../apimachinery/selectors/labels.js';
import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import { readRule, writeRule } from '../../../authorization/rbac/types.js';

/** Returns the selectors of an aggregated ClusterRole, or undefined if it is not aggregated. */
export function aggregationSelectors(role: ClusterRole): readonly LabelSelectorObject[] | undefined {
  return role.aggregationRule && (role.aggregationRule.clusterRoleSelectors ?? []);
}

/**
 * Returns the rules that an aggregated ClusterRole should have: those of all ClusterRoles that a selector matches, by name within
 * each selector, each rule once. Returns undefined if the role is not aggregated, or if one of its selectors is invalid.
 */
export function aggregatedRules(role: ClusterRole, clusterRoles: Iterable<ClusterRole>): PolicyRule[] | undefined {
  const selectors = aggregationSelectors(role);
  if (selectors === undefined) return undefined;
  const sorted = [...clusterRoles].sort((a, b) => compareUtf8(a.metadata.name ?? '', b.metadata.name ?? ''));
  const rules = new Map<string, PolicyRule>();
  for (const selector of selectors) {
    const compiled = compile(selector);
    if (compiled === undefined) return undefined;
    for (const candidate of sorted) {
      if (candidate.metadata.name === role.metadata.name || !compiled.matches(candidate.metadata.labels)) continue;
      for (const rule of candidate.rules ?? []) {
        const key = ruleKey(rule);
        if (!rules.has(key)) rules.set(key, rule);
      }
    }
  }
  return [...rules.values()];
}

/** Reports whether a role has the given rules, in the same order. */
export function sameRules(role: ClusterRole, rules: readonly PolicyRule[]): boolean {
  const current = role.rules ?? [];
  return (
    current.length === rules.length && current.every((rule, index) => ruleKey(rule) === ruleKey(rules[index] ?? {}))
  );
}

/** Returns the same key for semantically equal rules: absent and empty lists are the same. */
function ruleKey(rule: PolicyRule): string {
  return JSON.stringify(writeRule(readRule(rule)));
}

function compile(selector: JsonObject): LabelSelector | undefined {
  try {
    return labelSelectorFromObject(selector);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
