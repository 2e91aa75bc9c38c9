import { quote } from '../../apimachinery/meta/meta.js';
import { SERVICE_ACCOUNT_PREFIX, type UserInfo } from '../../authentication/user/user.js';
import type { AuthorizationResult, AuthorizerAttributes } from '../authorizer/interfaces.js';
import { PermissionTable } from './permission-table.js';
import { RBAC_GROUP, type PolicyRule, type RoleRef, type Subject } from './types.js';
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

/** The minimum number of rules from which a role is evaluated with a table instead of a scan. */
const RULES_TO_INDEX = 8;
/** The number of roles above which a subject gets its own table. */
const ROLES_TO_INDEX = 16;

/** A role that exists or that a binding refers to. */
export class RoleEntry {
  /** Undefined if the role does not exist but bindings refer to it. */
  rules: readonly PolicyRule[] | undefined = undefined;
  private table: PermissionTable<RoleEntry> | undefined = undefined;
  /** Subjects that have the role through any binding. */
  readonly holders = new Set<SubjectEntry>();
  /** The number of bindings that refer to the role. */
  bindings = 0;

  constructor(
    readonly key: string,
    readonly ref: RoleRef,
  ) {}

  setRules(rules: readonly PolicyRule[] | undefined): void {
    for (const holder of this.holders) holder.withdraw(this);
    this.rules = rules;
    this.table = undefined;
    for (const holder of this.holders) holder.enter(this);
  }

  allows(attributes: AuthorizerAttributes): boolean {
    const rules = this.rules;
    if (rules === undefined) return false;
    if (rules.length < RULES_TO_INDEX) {
      for (const rule of rules) if (ruleAllows(rule, attributes)) return true;
      return false;
    }
    if (this.table === undefined) {
      this.table = new PermissionTable();
      this.table.add(rules, this);
    }
    return this.table.find(attributes) !== undefined;
  }

  /** The error of kube-apiserver's lister for a role that does not exist. */
  get missingText(): string {
    if (this.ref.kind !== 'Role' && this.ref.kind !== 'ClusterRole') {
      return `unsupported role reference kind: ${quote(this.ref.kind)}`;
    }
    return `${this.ref.kind.toLowerCase()}.${RBAC_GROUP} ${quote(this.ref.name)} not found`;
  }
}

/** A user or group in one scope (cluster or namespace), with the roles bound to it. */
export class SubjectEntry {
  readonly roles = new Map<RoleEntry, Set<BindingEntry>>();
  /** Roles that are bound but do not exist. */
  readonly missing = new Set<RoleEntry>();
  private table: PermissionTable<RoleEntry> | undefined = undefined;

  bind(binding: BindingEntry): void {
    const role = binding.role;
    const bindings = this.roles.get(role);
    if (bindings !== undefined) {
      bindings.add(binding);
      return;
    }
    this.roles.set(role, new Set([binding]));
    role.holders.add(this);
    this.enter(role);
    if (this.table === undefined && this.roles.size > ROLES_TO_INDEX) {
      this.table = new PermissionTable();
      for (const held of this.roles.keys()) if (held.rules !== undefined) this.table.add(held.rules, held);
    }
  }

  unbind(binding: BindingEntry): void {
    const role = binding.role;
    const bindings = this.roles.get(role);
    if (bindings?.delete(binding) !== true || bindings.size > 0) return;
    this.withdraw(role);
    this.roles.delete(role);
    role.holders.delete(this);
    if (this.roles.size <= ROLES_TO_INDEX / 2) this.table = undefined;
  }

  enter(role: RoleEntry): void {
    if (role.rules === undefined) this.missing.add(role);
    else this.table?.add(role.rules, role);
  }

  withdraw(role: RoleEntry): void {
    if (role.rules === undefined) this.missing.delete(role);
    else this.table?.remove(role.rules, role);
  }

  /** Returns a binding that allows the request. */
  find(attributes: AuthorizerAttributes): BindingEntry | undefined {
    if (this.table !== undefined) {
      const role = this.table.find(attributes);
      return role === undefined ? undefined : this.bindingOf(role);
    }
    for (const role of this.roles.keys()) if (role.allows(attributes)) return this.bindingOf(role);
    return undefined;
  }

  private bindingOf(role: RoleEntry): BindingEntry | undefined {
    const [binding] = this.roles.get(role) ?? [];
    return binding;
  }
}

/** A RoleBinding, or a ClusterRoleBinding if `namespace` is ''. */
export class BindingEntry {
  private readonly results: AuthorizationResult[] = [];

  constructor(
    readonly namespace: string,
    readonly name: string,
    readonly role: RoleEntry,
    readonly subjects: readonly Subject[],
    /** The order in which bindings were first seen, for stable results. */
    readonly sequence: number,
  ) {}

  /** Returns an allow whose reason contains the binding, its role, and the first subject that matches the user. */
  allow(user: UserInfo): AuthorizationResult {
    const index = this.subjects.findIndex((subject) => appliesTo(user, subject, this.namespace));
    const known = this.results[index];
    if (known !== undefined) return known;
    const result: AuthorizationResult = { decision: 'allow', reason: this.describe(this.subjects[index]) };
    this.results[index] = result;
    return result;
  }

  private describe(subject: Subject | undefined): string {
    const { kind, name } = this.role.ref;
    const binding =
      this.namespace === ''
        ? `ClusterRoleBinding ${quote(this.name)}`
        : `RoleBinding ${quote(`${this.name}/${this.namespace}`)}`;
    return `RBAC: allowed by ${binding} of ${kind} ${quote(name)} to ${describeSubject(subject, this.namespace)}`;
  }
}

function describeSubject(subject: Subject | undefined, bindingNamespace: string): string {
  if (subject === undefined) return '';
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${quote(subject.name)}`;
  const namespace = subject.namespace === '' ? bindingNamespace : subject.namespace;
  return `ServiceAccount ${quote(`${subject.name}/${namespace}`)}`;
}

/** Returns the user name of a User or ServiceAccount subject; '' for any other subject. */
export function subjectUserName(subject: Subject, bindingNamespace: string): string {
  if (subject.kind === 'User') return subject.name;
  if (subject.kind !== 'ServiceAccount') return '';
  const namespace = subject.namespace === '' ? bindingNamespace : subject.namespace;
  return namespace === '' ? '' : `${SERVICE_ACCOUNT_PREFIX}${namespace}:${subject.name}`;
}

function appliesTo(user: UserInfo, subject: Subject, bindingNamespace: string): boolean {
  if (subject.kind === 'Group') return user.groups.includes(subject.name);
  const name = subjectUserName(subject, bindingNamespace);
  return name !== '' && name === user.name;
}
