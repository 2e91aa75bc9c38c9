import type { Scope } from '../../../apimachinery/meta/meta.js';
import type { CreateOnlyType } from '../../rest/create-only.js';

/** Returns the names of a kind of reviews, all of which have one version. */
export function reviewNames(group: string, kind: string, scope: Scope): Omit<CreateOnlyType, 'create'> {
  const singular = kind.toLowerCase();
  return { group, version: 'v1', resource: `${singular}s`, singular, kind, namespaced: scope === 'Namespaced' };
}
