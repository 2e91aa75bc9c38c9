import { formatGroupResource, type GroupResource } from '../apimachinery/meta/meta.js';
import type { Evaluator } from './evaluator.js';
import { ONE } from './resource-list.js';

/** Returns the resource name under which quotas limit the number of a type's objects. */
export const countName = (type: GroupResource): string => `count/${formatGroupResource(type)}`;

/** Counts objects. `alias` is the older resource name that some types have. */
export function objectCount(groupResource: GroupResource, alias?: string): Evaluator {
  const names = [countName(groupResource), ...(alias === undefined ? [] : [alias])];
  const usage = new Map(names.map((name) => [name, ONE]));
  return {
    groupResource,
    readsObjects: false,
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    matchesResource: (name) => names.includes(name),
    matchesScope: () => false,
    usage: () => usage,
  };
}
