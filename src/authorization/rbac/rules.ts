import type { AuthorizerAttributes } from '../authorizer/interfaces.js';
import type { PolicyRule } from './types.js';
import { trimRight } from '../../util/text/trim.js';

/** Reports whether the rule by itself allows the request. */
export function ruleAllows(rule: PolicyRule, attributes: AuthorizerAttributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false;
  if (!attributes.resourceRequest) return pathMatches(rule.nonResourceURLs, attributes.path);
  return (
    has(rule.apiGroups, attributes.apiGroup) &&
    resourceMatches(rule.resources, attributes.resource, attributes.subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(attributes.name))
  );
}

function has(list: readonly string[], wanted: string): boolean {
  for (const item of list) if (item === '*' || item === wanted) return true;
  return false;
}

function resourceMatches(list: readonly string[], resource: string, subresource: string): boolean {
  if (subresource === '') return has(list, resource);
  for (const item of list) {
    if (item === '*') return true;
    if (item.endsWith(subresource) && (item === `${resource}/${subresource}` || item === `*/${subresource}`))
      return true;
  }
  return false;
}

function pathMatches(urls: readonly string[], path: string): boolean {
  for (const url of urls) {
    if (url === path) return true;
    if (url.endsWith('*') && path.startsWith(trimRight(url, '*'))) return true;
  }
  return false;
}
