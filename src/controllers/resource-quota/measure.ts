import { objectAt } from '../../apimachinery/json/json.js';
import { formatGroupResource, type KubeObject } from '../../apimachinery/meta/meta.js';
import { usageOf } from '../../quota/charge.js';
import type { Evaluator } from '../../quota/evaluator.js';
import { evaluatorOf, specialEvaluators } from '../../quota/evaluators.js';
import { scopesOf } from '../../quota/quota.js';
import { add, filterResources, type ResourceList, resourceList, ZERO } from '../../quota/resource-list.js';
import { Quantity } from '../../apimachinery/meta/quantity.js';
import type { ApiRegistry, StoredApi } from '../../registry/generic/store/api-registry.js';
import { yieldNow } from '../../scheduling/slicer.js';
import { QUOTA_TURN_KEYS, QUOTA_TURN_OBJECTS } from '../../scheduling/thresholds.js';

export interface MeasuredType {
  readonly api: StoredApi;
  readonly evaluator: Evaluator;
}

/** Returns the namespaced types that quotas can limit, each once, by their names in the store. */
export function measuredTypes(registry: ApiRegistry): Map<string, MeasuredType> {
  const types = new Map<string, MeasuredType>();
  for (const api of registry.all()) {
    if (api.kind !== 'stored' || !api.served.type.namespaced || api.served.type.storedAs !== undefined) continue;
    const evaluator = evaluatorOf(api.served.groupResource);
    if (evaluator !== undefined) types.set(api.store.resource, { api, evaluator });
  }
  return types;
}

/** Measures the usage of a quota's resources in its namespace. A resource without an evaluator keeps its amount. */
export async function measure(
  quota: KubeObject,
  types: ReadonlyMap<string, MeasuredType>,
  now: number,
): Promise<ResourceList> {
  const spec = objectAt(quota, 'spec');
  const hard = resourceList(spec?.['hard']);
  const scopes = scopesOf(spec);
  const namespace = quota.metadata.namespace ?? '';
  const used = new Map(filterResources(resourceList(objectAt(quota, 'status')?.['used']), (name) => hard.has(name)));
  const served = new Set([...types.values()].map(({ evaluator }) => formatGroupResource(evaluator.groupResource)));
  for (const evaluator of specialEvaluators()) {
    // A type that is not served has no objects.
    if (served.has(formatGroupResource(evaluator.groupResource))) continue;
    for (const name of hard.keys()) if (evaluator.matchesResource(name)) used.set(name, ZERO);
  }
  for (const { api, evaluator } of types.values()) {
    const names = [...hard.keys()].filter((name) => evaluator.matchesResource(name));
    if (names.length === 0) continue;
    const total = evaluator.readsObjects
      ? await sum(api, evaluator, scopes, namespace, now)
      : await count(api, names, scopes.length > 0, namespace);
    for (const name of names) used.set(name, total.get(name) ?? ZERO);
  }
  return used;
}

/** Scopes never match objects that are only counted. */
async function count(
  api: StoredApi,
  names: readonly string[],
  scoped: boolean,
  namespace: string,
): Promise<ResourceList> {
  let number = 0;
  if (!scoped) {
    for (const _ of api.store.cache.peekAll(`${namespace}/`)) {
      if (++number % QUOTA_TURN_KEYS === 0) await yieldNow();
    }
  }
  return new Map(names.map((name) => [name, Quantity.of(BigInt(number))]));
}

async function sum(
  api: StoredApi,
  evaluator: Evaluator,
  scopes: ReturnType<typeof scopesOf>,
  namespace: string,
  now: number,
): Promise<ResourceList> {
  let total: ResourceList = new Map();
  let turn: KubeObject[] = [];
  for (const item of api.store.cache.peekAll(`${namespace}/`)) {
    turn.push(api.served.toObject(item));
    if (turn.length < QUOTA_TURN_OBJECTS) continue;
    total = add(total, usageOf(evaluator, scopes, turn, now));
    turn = [];
    await yieldNow();
  }
  return add(total, usageOf(evaluator, scopes, turn, now));
}
