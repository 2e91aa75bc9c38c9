import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type {
  AuthorizationResult,
  Authorizer,
  AuthorizerAttributes,
  NonResourceRule,
  ResourceRule,
  RuleResolver,
  RulesResult,
} from '../authorizer/interfaces.js';
import { aggregateTexts, NO_OPINION } from '../authorizer/results.js';
import { BindingEntry, RoleEntry, SubjectEntry, subjectUserName } from './entries.js';
import {
  readRoleRef,
  readRules,
  readSubjects,
  type ResolvedRules,
  type PolicyRule,
  type RbacKind,
  type RbacRuleSource,
  type RoleRef,
} from './types.js';

/** The subjects of the cluster role bindings, or of the role bindings in one namespace. */
class Scope {
  readonly users = new Map<string, SubjectEntry>();
  readonly groups = new Map<string, SubjectEntry>();
}

/**
 * Role-based access control over an index of roles and bindings, updated from watch events. A change takes effect when
 * the call returns. A decision is synchronous, and its cost does not grow with the number of bindings or rules.
 */
export class RbacIndex implements Authorizer, RuleResolver, RbacRuleSource {
  private readonly roles = new Map<string, RoleEntry>();
  private readonly bindings = new Map<string, BindingEntry>();
  private readonly cluster = new Scope();
  private readonly namespaces = new Map<string, Scope>();
  private sequence = 0;

  /** Adds or updates an object. */
  upsert(kind: RbacKind, object: KubeObject): void {
    const namespace = object.metadata.namespace ?? '';
    const name = object.metadata.name ?? '';
    if (kind === 'Role' || kind === 'ClusterRole') {
      this.role(kind, namespace, name).setRules(readRules(object));
      return;
    }
    const key = `${namespace}/${name}`;
    const old = this.bindings.get(key);
    const ref = readRoleRef(object);
    const role = this.role(ref.kind, namespace, ref.name);
    const binding = new BindingEntry(namespace, name, role, readSubjects(object), old?.sequence ?? this.sequence++);
    // Bind the new one before unbinding the old one, so that the role's entry survives.
    this.bind(binding);
    if (old !== undefined) this.unbind(old);
    this.bindings.set(key, binding);
  }

  /** Removes an object; an unknown one is not an error. */
  delete(kind: RbacKind, namespace: string, name: string): void {
    if (kind === 'Role' || kind === 'ClusterRole') {
      const role = this.roles.get(roleKey(kind, namespace, name));
      role?.setRules(undefined);
      if (role !== undefined) this.drop(role);
      return;
    }
    const key = `${namespace}/${name}`;
    const old = this.bindings.get(key);
    if (old === undefined) return;
    this.bindings.delete(key);
    this.unbind(old);
  }

  /** Removes the objects of a kind that are not in `present` (`namespace/name`). */
  retain(kind: RbacKind, present: ReadonlySet<string>): void {
    for (const [namespace, name] of this.namesOf(kind)) {
      if (!present.has(`${namespace}/${name}`)) this.delete(kind, namespace, name);
    }
  }

  authorize(attributes: AuthorizerAttributes): AuthorizationResult {
    const { user, namespace } = attributes;
    const local = namespace === '' ? undefined : this.namespaces.get(namespace);
    const binding = findIn(this.cluster, attributes) ?? (local === undefined ? undefined : findIn(local, attributes));
    if (binding !== undefined) return binding.allow(user);
    const missing: string[] = [];
    forSubjects(this.cluster, user, (subject) => collectMissing(subject, missing));
    if (local !== undefined) forSubjects(local, user, (subject) => collectMissing(subject, missing));
    return missing.length === 0 ? NO_OPINION : { decision: 'no-opinion', reason: `RBAC: ${aggregateTexts(missing)}` };
  }

  rulesFor(user: UserInfo, namespace: string): RulesResult {
    const resourceRules: ResourceRule[] = [];
    const nonResourceRules: NonResourceRule[] = [];
    const errors: string[] = [];
    for (const { role } of this.bindingsOf(user, namespace)) {
      if (role.rules === undefined) errors.push(role.missingText);
      for (const rule of role.rules ?? []) {
        const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
        if (resources.length > 0) resourceRules.push({ verbs, apiGroups, resources, resourceNames });
        if (nonResourceURLs.length > 0) nonResourceRules.push({ verbs, nonResourceURLs });
      }
    }
    return { resourceRules, nonResourceRules, incomplete: false, error: aggregateTexts(errors) };
  }

  policyRulesFor(user: UserInfo, namespace: string): ResolvedRules {
    const rules: PolicyRule[] = [];
    const unresolved: RoleRef[] = [];
    for (const { role } of this.bindingsOf(user, namespace)) {
      if (role.rules === undefined) unresolved.push(role.ref);
      else for (const rule of role.rules) rules.push(rule);
    }
    return { rules, unresolved };
  }

  roleRules(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.roles.get(roleKey(ref.kind, namespace, ref.name))?.rules;
  }

  /** Returns the numbers of objects, for metrics and tests. */
  size(): { readonly roles: number; readonly bindings: number } {
    return { roles: this.roles.size, bindings: this.bindings.size };
  }

  private *namesOf(kind: RbacKind): Iterable<readonly [string, string]> {
    if (kind === 'Role' || kind === 'ClusterRole') {
      for (const role of [...this.roles.values()]) {
        if (role.ref.kind === kind) yield [role.key.slice(kind.length + 1, -role.ref.name.length - 1), role.ref.name];
      }
      return;
    }
    for (const binding of [...this.bindings.values()]) {
      if ((binding.namespace === '') === (kind === 'ClusterRoleBinding')) yield [binding.namespace, binding.name];
    }
  }

  private role(kind: string, namespace: string, name: string): RoleEntry {
    const key = roleKey(kind, namespace, name);
    let role = this.roles.get(key);
    if (role === undefined) {
      role = new RoleEntry(key, { apiGroup: 'rbac.authorization.k8s.io', kind, name });
      this.roles.set(key, role);
    }
    return role;
  }

  private drop(role: RoleEntry): void {
    if (role.rules === undefined && role.bindings === 0) this.roles.delete(role.key);
  }

  private bind(binding: BindingEntry): void {
    const scope = this.scope(binding.namespace);
    binding.role.bindings++;
    for (const subject of binding.subjects) {
      if (subject.kind === 'Group') entryAt(scope.groups, subject.name).bind(binding);
      else {
        const user = subjectUserName(subject, binding.namespace);
        if (user !== '') entryAt(scope.users, user).bind(binding);
      }
    }
  }

  private unbind(binding: BindingEntry): void {
    const scope = this.scope(binding.namespace);
    for (const subject of binding.subjects) {
      if (subject.kind === 'Group') unbindAt(scope.groups, subject.name, binding);
      else unbindAt(scope.users, subjectUserName(subject, binding.namespace), binding);
    }
    binding.role.bindings--;
    this.drop(binding.role);
    if (scope !== this.cluster && scope.users.size === 0 && scope.groups.size === 0) {
      this.namespaces.delete(binding.namespace);
    }
  }

  private scope(namespace: string): Scope {
    if (namespace === '') return this.cluster;
    let scope = this.namespaces.get(namespace);
    if (scope === undefined) this.namespaces.set(namespace, (scope = new Scope()));
    return scope;
  }

  /** Returns the user's bindings without duplicates, those of the cluster first. */
  private bindingsOf(user: UserInfo, namespace: string): BindingEntry[] {
    const found = new Set<BindingEntry>();
    const collect = (subject: SubjectEntry): void => {
      for (const bindings of subject.roles.values()) for (const binding of bindings) found.add(binding);
    };
    forSubjects(this.cluster, user, collect);
    const local = namespace === '' ? undefined : this.namespaces.get(namespace);
    if (local !== undefined) forSubjects(local, user, collect);
    const rank = (binding: BindingEntry): number => (binding.namespace === '' ? 0 : 1);
    return [...found].sort((a, b) => rank(a) - rank(b) || a.sequence - b.sequence);
  }
}

/** The Role of a binding is in the binding's namespace; cluster roles have no namespace. */
function roleKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${kind === 'ClusterRole' ? '' : namespace}/${name}`;
}

function entryAt(map: Map<string, SubjectEntry>, name: string): SubjectEntry {
  let entry = map.get(name);
  if (entry === undefined) map.set(name, (entry = new SubjectEntry()));
  return entry;
}

function unbindAt(map: Map<string, SubjectEntry>, name: string, binding: BindingEntry): void {
  const entry = map.get(name);
  if (entry === undefined) return;
  entry.unbind(binding);
  if (entry.roles.size === 0) map.delete(name);
}

function findIn(scope: Scope, attributes: AuthorizerAttributes): BindingEntry | undefined {
  const { user } = attributes;
  const found = scope.users.get(user.name)?.find(attributes);
  if (found !== undefined) return found;
  for (const group of user.groups) {
    const binding = scope.groups.get(group)?.find(attributes);
    if (binding !== undefined) return binding;
  }
  return undefined;
}

function forSubjects(scope: Scope, user: UserInfo, visit: (subject: SubjectEntry) => void): void {
  const own = scope.users.get(user.name);
  if (own !== undefined) visit(own);
  for (const group of user.groups) {
    const subject = scope.groups.get(group);
    if (subject !== undefined) visit(subject);
  }
}

function collectMissing(subject: SubjectEntry, texts: string[]): void {
  for (const role of subject.missing) texts.push(role.missingText);
}
