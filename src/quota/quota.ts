import { type JsonObject, objectAt, objectsOf, stringsOf, textAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { Evaluator, ScopeRequirement } from './evaluator.js';
import { type ResourceList, resourceList } from './resource-list.js';

/** A ResourceQuota, parsed for admission and the controller. */
export interface Quota {
  readonly object: KubeObject;
  readonly name: string;
  readonly scopes: readonly ScopeRequirement[];
  /** `status.hard`: the limits that the controller has observed. */
  readonly hard: ResourceList;
  readonly used: ResourceList;
}

/** Returns scopes and the scope selector as requirements of the same form. */
export function scopesOf(spec: JsonObject | undefined): ScopeRequirement[] {
  const named = stringsOf(spec?.['scopes']).map((scopeName) => ({ scopeName, operator: 'Exists', values: [] }));
  const selected = objectsOf(objectAt(spec, 'scopeSelector')?.['matchExpressions']).map((expression) => ({
    scopeName: textAt(expression, 'scopeName'),
    operator: textAt(expression, 'operator'),
    values: stringsOf(expression['values']),
  }));
  return [...named, ...selected];
}

export function quotaOf(object: KubeObject): Quota {
  const status = objectAt(object, 'status');
  return {
    object,
    name: object.metadata.name ?? '',
    scopes: scopesOf(objectAt(object, 'spec')),
    hard: resourceList(status?.['hard']),
    used: resourceList(status?.['used']),
  };
}

/** Reports whether the quota limits a resource that the object uses and its scopes match the object. */
export const quotaMatches = ({ hard, scopes }: Quota, evaluator: Evaluator, object: KubeObject): boolean =>
  [...hard.keys()].some((name) => evaluator.matchesResource(name)) &&
  scopes.every((scope) => evaluator.matchesScope(scope, object));
