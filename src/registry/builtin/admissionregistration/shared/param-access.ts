import type { Binding, BindingSpec, Policy } from './type.js';
import type { ParamKind } from '../../../../apimachinery/generated/admissionregistration.js';
import { type FieldError, type FieldPath, forbidden } from '../../../../apimachinery/meta/field-error.js';
import { deepEqual } from '../../../../apimachinery/json/json.js';
import {
  compareUtf8,
  type GroupVersionKind,
  type KubeObject,
  parseGroupVersion,
} from '../../../../apimachinery/meta/meta.js';
import { isPrivileged, type UserInfo } from '../../../../authentication/user/user.js';
import type { Authorizer, AuthorizerAttributes } from '../../../../authorization/authorizer/interfaces.js';
import { NEVER_ABORTED } from '../../../../util/never-aborted.js';
import type { MaybePromise } from '../../../../util/maybe-promise.js';

/** The dependencies of the check that the author of a policy or binding with params may read these params. */
export interface ParamAccess {
  readonly authorizer: Authorizer;
  /** Returns the served resource with the given kind, or undefined if none has it. */
  resourceOf(kind: GroupVersionKind): string | undefined;
  /** Returns the policy of a kind (`ValidatingAdmissionPolicy`) that a binding names. */
  policy(kind: string, name: string): MaybePromise<Policy | undefined>;
}

interface Target {
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly problem?: 'unparsed' | 'unresolved';
}

const ANYTHING: Target = { apiGroup: '*', apiVersion: '*', resource: '*' };

function targetOf(paramKind: ParamKind, access: ParamAccess): Target {
  const parsed = parseGroupVersion(paramKind.apiVersion ?? '');
  if (parsed === undefined) return { ...ANYTHING, problem: 'unparsed' };
  const { group, version } = parsed;
  const resource = access.resourceOf({ group, version, kind: paramKind.kind ?? '' });
  if (resource === undefined) return { apiGroup: group, apiVersion: version, resource: '*', problem: 'unresolved' };
  return { apiGroup: group, apiVersion: version, resource };
}

/** Formats a user as Go prints it. */
function printed({ name, uid, groups, extra }: UserInfo): string {
  const entries = Object.keys(extra)
    .sort(compareUtf8)
    .map((key) => `${key}:[${(extra[key] ?? []).join(' ')}]`);
  return `&{${name} ${uid} [${groups.join(' ')}] map[${entries.join(' ')}]}`;
}

async function mayRead(
  access: ParamAccess,
  user: UserInfo,
  what: Pick<AuthorizerAttributes, 'verb' | 'namespace' | 'name'>,
  { apiGroup, apiVersion, resource }: Target,
): Promise<boolean> {
  const question = { user, ...what, resourceRequest: true, apiGroup, apiVersion, resource, subresource: '', path: '' };
  const { decision } = await access.authorizer.authorize(question, NEVER_ABORTED);
  return decision === 'allow';
}

/** Returns why the user may not write a policy with its paramKind, or undefined if the user may. */
export async function paramKindObjection(
  access: ParamAccess,
  user: UserInfo,
  policy: Policy,
  old: Policy | undefined,
): Promise<string | undefined> {
  const paramKind = policy.spec?.paramKind;
  if (paramKind === undefined || isPrivileged(user)) return undefined;
  if (deepEqual(old?.spec?.paramKind, paramKind)) return undefined;
  const target = targetOf(paramKind, access);
  if (await mayRead(access, user, { verb: 'get', namespace: '*', name: '*' }, target)) return undefined;
  const kind = paramKind.kind ?? '';
  const apiVersion = paramKind.apiVersion ?? '';
  return `user ${printed(user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
}

/** Returns why the user may not write a binding with its paramRef, or undefined if the user may. */
export async function paramRefObjection(
  access: ParamAccess,
  policyKind: string,
  user: UserInfo,
  binding: Binding,
  old: Binding | undefined,
): Promise<string | undefined> {
  const spec: BindingSpec = binding.spec ?? {};
  const ref = spec.paramRef;
  if (ref === undefined || isPrivileged(user)) return undefined;
  const before = old?.spec;
  if (spec.policyName === before?.policyName && deepEqual(ref, before?.paramRef)) return undefined;
  const policyName = spec.policyName ?? '';
  const policy = await access.policy(policyKind, policyName);
  const paramKind = policy?.spec?.paramKind;
  const target = paramKind === undefined ? ANYTHING : targetOf(paramKind, access);
  const name = ref.name ?? '';
  const verb = name === '' ? 'list' : 'get';
  if (await mayRead(access, user, { verb, namespace: ref.namespace ?? '', name }, target)) return undefined;
  const lacks = `to determine minimum required permissions and user ${printed(user)} does not have "${verb}" permission for all groups, versions and resources`;
  if (policy === undefined) return `unable to get policy ${policyName} ${lacks}`;
  const shown = `&ParamKind{APIVersion:${paramKind?.apiVersion ?? ''},Kind:${paramKind?.kind ?? ''},}`;
  if (target.problem === 'unparsed') return `unable to parse paramKind ${shown} ${lacks}`;
  if (target.problem === 'unresolved') return `unable to resolve paramKind ${shown} ${lacks}`;
  // kube-apiserver confuses the two for mutating policies.
  const [who, what] = policyKind === 'MutatingAdmissionPolicy' ? [verb, printed(user)] : [printed(user), verb];
  return `user ${who} does not have "${what}" permission on the object referenced by paramRef`;
}

/** Keeps the objections found by the escalation check of a write for its validation, which is synchronous. */
export class Objections {
  private readonly known = new WeakMap<KubeObject, string>();

  constructor(private readonly path: FieldPath) {}

  async note(object: KubeObject, asking: Promise<string | undefined>): Promise<void> {
    const objection = await asking;
    if (objection === undefined) this.known.delete(object);
    else this.known.set(object, objection);
  }

  /** Adds the objection to an object only if it has no other errors. */
  add(errors: readonly FieldError[], object: KubeObject): readonly FieldError[] {
    const objection = this.known.get(object);
    return errors.length > 0 || objection === undefined ? errors : [forbidden(this.path, objection)];
  }
}
