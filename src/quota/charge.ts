import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { Evaluator, QuotaChange } from './evaluator.js';
import { quotaMatches, type Quota } from './quota.js';
import { add, excess, filterResources, printed, printedNames, type ResourceList } from './resource-list.js';

/** The quotas after an allowed change, or the reason why a quota refuses it. */
export type Charge = { readonly quotas: readonly Quota[] } | { readonly refused: string };

/** Charges a change to the quotas of its namespace. Quotas that do not change are returned as the same objects. */
export function charge(quotas: readonly Quota[], change: QuotaChange, evaluator: Evaluator, now: number): Charge {
  const { object, oldObject, operation, subresource } = change;
  if (object === undefined) return { quotas };
  const matchingQuotas = new Set<Quota>();
  for (const quota of quotas) {
    if (!quotaMatches(quota, evaluator, object)) continue;
    const limited = [...quota.hard.keys()].filter((name) => evaluator.matchesResource(name));
    const why = evaluator.constraintViolation?.(limited, object);
    if (why !== undefined) return { refused: `failed quota: ${quota.name}: ${why}` };
    if (limited.some((name) => !quota.used.has(name))) {
      return { refused: `status unknown for quota: ${quota.name}, resources: ${printedNames(limited)}` };
    }
    matchingQuotas.add(quota);
  }
  if (matchingQuotas.size === 0) return { quotas };
  const usage = evaluator.usage(object, now);
  const negative = filterResources(usage, (_, amount) => amount.sign < 0);
  if (negative.size > 0) {
    return { refused: `quota usage is negative for resource(s): ${printedNames(negative.keys())}` };
  }
  const before = operation === 'UPDATE' && (oldObject?.metadata.resourceVersion ?? '') !== '' ? oldObject : undefined;
  const increase = before === undefined ? usage : excess(usage, evaluator.usage(before, now));
  const after: Quota[] = [];
  for (const quota of quotas) {
    if (!matchingQuotas.has(quota)) {
      after.push(quota);
      continue;
    }
    const counted = before !== undefined && quotaMatches(quota, evaluator, before);
    const charged = chargeOne(quota, counted ? increase : usage, subresource !== 'status');
    if ('refused' in charged) return charged;
    after.push(charged.quota);
  }
  return { quotas: after };
}

function chargeOne(
  quota: Quota,
  usage: ResourceList,
  limits: boolean,
): { readonly quota: Quota } | { readonly refused: string } {
  const requested = filterResources(usage, (name, amount) => amount.sign !== 0 && quota.hard.has(name));
  if (requested.size === 0) return { quota };
  const used = add(quota.used, requested);
  const exceeded = filterResources(requested, (name) => {
    const limit = quota.hard.get(name);
    return limit !== undefined && (used.get(name)?.compare(limit) ?? 0) > 0;
  });
  if (limits && exceeded.size > 0) return { refused: exceededText(quota, exceeded) };
  return { quota: { ...quota, used } };
}

/** Returns the refusal of a change that exceeds a quota. */
export function exceededText(
  { name, hard, used }: Pick<Quota, 'name' | 'hard' | 'used'>,
  requested: ResourceList,
): string {
  const of = (list: ResourceList): string => printed(filterResources(list, (resource) => requested.has(resource)));
  return `exceeded quota: ${name}, requested: ${printed(requested)}, used: ${of(used)}, limited: ${of(hard)}`;
}

/** Returns the usage of the objects of one type within the scopes of a quota. */
export function usageOf(
  evaluator: Evaluator,
  scopes: Quota['scopes'],
  objects: Iterable<KubeObject>,
  now: number,
): ResourceList {
  let total: ResourceList = new Map();
  for (const object of objects) {
    if (scopes.every((scope) => evaluator.matchesScope(scope, object)))
      total = add(total, evaluator.usage(object, now));
  }
  return total;
}
