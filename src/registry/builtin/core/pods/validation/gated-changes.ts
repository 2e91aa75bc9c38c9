import { type FieldError, FieldPath, invalid, Printed } from '../../../../../apimachinery/meta/field-error.js';
import { deepEqual, type JsonObject } from '../../../../../apimachinery/json/json.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import { internalJson } from '../../../../../apimachinery/scheme/internal-diff.js';
import type { Affinity, NodeAffinity, NodeSelectorTerm, PodSpec } from '../../../../../apimachinery/generated/core.js';
import { REQUIRED } from '../fields.js';

const SPEC = FieldPath.of('spec');
const TERMS = SPEC.child('affinity', 'nodeAffinity', REQUIRED, 'nodeSelectorTerms');

/** Allows only additions to the node selector of a pod that has scheduling gates. */
export function selectorErrors(spec: PodSpec, old: PodSpec): FieldError[] {
  const now = spec.nodeSelector ?? {};
  const before = old.nodeSelector ?? {};
  if (Object.entries(before).every(([key, value]) => now[key] === value)) return [];
  const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
  const given = spec.nodeSelector ?? emptyMembersOf(spec)?.['nodeSelector'] ?? null;
  return [invalid(SPEC.child('nodeSelector'), given, why)];
}

/** The path of the terms in the internal type. */
const NAMES = ['Affinity', 'NodeAffinity', 'RequiredDuringSchedulingIgnoredDuringExecution', 'NodeSelectorTerms'];
const shown = (terms: JsonObject | JsonObject[]): Printed => new Printed(internalJson('PodSpec', NAMES, terms));

const nodeAffinityOf = (spec: PodSpec): NodeAffinity | undefined => spec.affinity?.nodeAffinity;

const termsOf = (spec: PodSpec): NodeSelectorTerm[] => nodeAffinityOf(spec)?.[REQUIRED]?.nodeSelectorTerms ?? [];

/** Allows only stricter node selector terms: as a node needs to match one of them, none may be added or removed. */
export function nodeAffinityErrors(spec: PodSpec, old: PodSpec): FieldError[] {
  const before = termsOf(old);
  if (before.length === 0) return [];
  const now = termsOf(spec);
  if (now.length !== before.length) {
    const given = now.length === 0 ? null : shown(now);
    return [invalid(TERMS, given, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')];
  }
  return now.flatMap((term, i) =>
    onlyAdds(term, before[i] ?? {})
      ? []
      : [invalid(TERMS.index(i), shown(term), 'only additions are allowed (no mutations or deletions)')],
  );
}

function onlyAdds(term: NodeSelectorTerm, before: NodeSelectorTerm): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const;
  const count = (of: NodeSelectorTerm): number => lists.reduce((sum, list) => sum + (of[list] ?? []).length, 0);
  // A term without requirements matches no node, so that any addition would match more.
  if (count(before) === 0) return count(term) === 0;
  return lists.every((list) => {
    const old = before[list] ?? [];
    return deepEqual((term[list] ?? []).slice(0, old.length), old);
  });
}

/** Returns the affinity of an update with the pod's previous node affinity. */
export function withNodeAffinityOf(spec: PodSpec, old: PodSpec): Affinity | undefined {
  const affinity = spec.affinity;
  const before = nodeAffinityOf(old);
  if (affinity === undefined) return before === undefined ? undefined : { nodeAffinity: before };
  const { nodeAffinity, ...others } = affinity;
  if (before !== undefined) return { ...others, nodeAffinity: before };
  const isNew = old.affinity === undefined && nodeAffinity !== undefined && Object.keys(others).length === 0;
  return isNew ? undefined : others;
}
