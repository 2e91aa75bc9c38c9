import { addTo, removeFrom } from '../../util/append.js';
import type { AuthorizerAttributes } from '../authorizer/interfaces.js';
import type { PolicyRule } from './types.js';
import { trimRight } from '../../util/text/trim.js';

/** The owners of a permission, by verb. */
type Verbs<T> = Map<string, Set<T>>;

interface Leaf<T> {
  /** Permissions of rules without resourceNames. */
  readonly any: Verbs<T>;
  readonly named: Map<string, Verbs<T>>;
}

/**
 * Indexes permissions and their owners by API group, resource, name and verb. A check costs about a dozen lookups,
 * regardless of the number of rules, because wildcards are ordinary keys.
 */
export class PermissionTable<T> {
  private readonly groups = new Map<string, Map<string, Leaf<T>>>();
  private readonly paths = new Map<string, Verbs<T>>();
  /** Paths that end with a star, without the star. */
  private readonly pathPrefixes = new Map<string, Verbs<T>>();

  add(rules: readonly PolicyRule[], owner: T): void {
    for (const rule of rules) {
      for (const apiGroup of rule.apiGroups) {
        for (const resource of rule.resources) {
          const leaf = this.leaf(apiGroup, resource);
          if (rule.resourceNames.length === 0) grant(leaf.any, rule.verbs, owner);
          else for (const name of rule.resourceNames) grant(at(leaf.named, name), rule.verbs, owner);
        }
      }
      for (const url of rule.nonResourceURLs) {
        if (url.endsWith('*')) grant(at(this.pathPrefixes, trimRight(url, '*')), rule.verbs, owner);
        else grant(at(this.paths, url), rule.verbs, owner);
      }
    }
  }

  remove(rules: readonly PolicyRule[], owner: T): void {
    for (const rule of rules) {
      for (const apiGroup of rule.apiGroups) {
        for (const resource of rule.resources) this.revoke(apiGroup, resource, rule, owner);
      }
      for (const url of rule.nonResourceURLs) {
        if (url.endsWith('*')) revokeAt(this.pathPrefixes, trimRight(url, '*'), rule.verbs, owner);
        else revokeAt(this.paths, url, rule.verbs, owner);
      }
    }
  }

  /** Returns an owner that grants the request, or undefined. */
  find(attributes: AuthorizerAttributes): T | undefined {
    if (!attributes.resourceRequest) return this.findPath(attributes.path, attributes.verb);
    return this.findInGroup(attributes.apiGroup, attributes) ?? this.findInGroup('*', attributes);
  }

  private findInGroup(apiGroup: string, attributes: AuthorizerAttributes): T | undefined {
    const resources = this.groups.get(apiGroup);
    if (resources === undefined) return undefined;
    const { resource, subresource, verb, name } = attributes;
    if (subresource === '') {
      return pick(resources.get(resource), verb, name) ?? pick(resources.get('*'), verb, name);
    }
    return (
      pick(resources.get(`${resource}/${subresource}`), verb, name) ??
      pick(resources.get('*'), verb, name) ??
      pick(resources.get(`*/${subresource}`), verb, name)
    );
  }

  private findPath(path: string, verb: string): T | undefined {
    const exact = byVerb(this.paths.get(path), verb);
    if (exact !== undefined) return exact;
    for (const [prefix, verbs] of this.pathPrefixes) {
      if (!path.startsWith(prefix)) continue;
      const owner = byVerb(verbs, verb);
      if (owner !== undefined) return owner;
    }
    return undefined;
  }

  private leaf(apiGroup: string, resource: string): Leaf<T> {
    let resources = this.groups.get(apiGroup);
    if (resources === undefined) this.groups.set(apiGroup, (resources = new Map<string, Leaf<T>>()));
    let leaf = resources.get(resource);
    if (leaf === undefined) resources.set(resource, (leaf = { any: new Map(), named: new Map() }));
    return leaf;
  }

  private revoke(apiGroup: string, resource: string, rule: PolicyRule, owner: T): void {
    const resources = this.groups.get(apiGroup);
    const leaf = resources?.get(resource);
    if (resources === undefined || leaf === undefined) return;
    if (rule.resourceNames.length === 0) revokeFrom(leaf.any, rule.verbs, owner);
    else for (const name of rule.resourceNames) revokeAt(leaf.named, name, rule.verbs, owner);
    if (leaf.any.size > 0 || leaf.named.size > 0) return;
    resources.delete(resource);
    if (resources.size === 0) this.groups.delete(apiGroup);
  }
}

function at<T>(map: Map<string, Verbs<T>>, key: string): Verbs<T> {
  let verbs = map.get(key);
  if (verbs === undefined) map.set(key, (verbs = new Map<string, Set<T>>()));
  return verbs;
}

function grant<T>(into: Verbs<T>, verbs: readonly string[], owner: T): void {
  for (const verb of verbs) addTo(into, verb, owner);
}

function revokeFrom<T>(from: Verbs<T>, verbs: readonly string[], owner: T): void {
  for (const verb of verbs) removeFrom(from, verb, owner);
}

function revokeAt<T>(map: Map<string, Verbs<T>>, key: string, verbs: readonly string[], owner: T): void {
  const from = map.get(key);
  if (from === undefined) return;
  revokeFrom(from, verbs, owner);
  if (from.size === 0) map.delete(key);
}

function pick<T>(leaf: Leaf<T> | undefined, verb: string, name: string): T | undefined {
  if (leaf === undefined) return undefined;
  const owner = byVerb(leaf.any, verb);
  if (owner !== undefined || leaf.named.size === 0) return owner;
  return byVerb(leaf.named.get(name), verb);
}

function byVerb<T>(verbs: Verbs<T> | undefined, verb: string): T | undefined {
  if (verbs === undefined) return undefined;
  const owners = verbs.get(verb) ?? verbs.get('*');
  return owners === undefined ? undefined : first(owners);
}

function first<T>(owners: Set<T>): T | undefined {
  for (const owner of owners) return owner;
  return undefined;
}
