import type { ApiError } from '../../../apimachinery/meta/errors.js';
import { watchCache } from '../../../util/caches/cache-metrics.js';
import { LruCache } from '../../../util/caches/lru-cache.js';
import type { Authorizer, AuthorizerAttributes } from '../../../authorization/authorizer/interfaces.js';
import {
  ALL_AUTHENTICATED,
  ALL_SERVICE_ACCOUNTS,
  ALL_UNAUTHENTICATED,
  ANONYMOUS,
  NODE_USER_PREFIX,
  NODES_GROUP,
  SERVICE_ACCOUNT_PREFIX,
  SYSTEM_PRIVILEGED_GROUP,
  type UserInfo,
} from '../../../authentication/user/user.js';
import { forbidden } from '../../../authorization/authorizer/forbidden.js';
import { quote } from '../../../apimachinery/meta/meta.js';

/** `legacy` only requires the verb `impersonate`; the other modes are constrained to the actions they are used for. */
export type ImpersonationMode = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info' | 'legacy';

export interface Impersonated {
  readonly user: UserInfo;
  readonly mode: ImpersonationMode;
}

const NODE_NAME_KEY = 'authentication.kubernetes.io/node-name';
const ASSOCIATED_KEYS = 'authentication.kubernetes.io/associated-node-keys';
const AUTHENTICATION_GROUP = 'authentication.k8s.io';
/** From this many checks on, a single wildcard check is tried first. */
const WILDCARD_CHECK_THRESHOLD = 4;
/** The maximum number of bytes of the names of all remembered users. A longer name than a 64th of it is not remembered. */
const REMEMBERED_BYTES = 1 << 20;
const bytesOf = (name: string): number => 64 + 2 * name.length;

const CONSTRAINED: readonly ImpersonationMode[] = ['associated-node', 'arbitrary-node', 'serviceaccount', 'user-info'];

/** Splits `system:serviceaccount:<namespace>:<name>`; undefined unless namespace and name are valid. */
function splitServiceAccount(username: string): { namespace: string; name: string } | undefined {
  if (!username.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const parts = username.slice(SERVICE_ACCOUNT_PREFIX.length).split(':');
  const [namespace, name] = parts;
  if (parts.length !== 2 || namespace === undefined || name === undefined) return undefined;
  return isLabel(namespace) && isSubdomain(name) ? { namespace, name } : undefined;
}

const isLabel = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);
const isSubdomain = (text: string): boolean =>
  text.length <= 253 && text.split('.').every((part) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(part));

function nodeName(username: string): string | undefined {
  if (!username.startsWith(NODE_USER_PREFIX)) return undefined;
  const name = username.slice(NODE_USER_PREFIX.length);
  return isSubdomain(name) ? name : undefined;
}

const onlyName = (user: UserInfo): boolean =>
  user.uid === '' && user.groups.length === 0 && Object.keys(user.extra).length === 0;

function applies(mode: ImpersonationMode, wanted: UserInfo, requestor: UserInfo): boolean {
  const node = nodeName(wanted.name);
  switch (mode) {
    case 'associated-node': {
      const bound = requestor.extra[NODE_NAME_KEY];
      return (
        onlyName(wanted) &&
        node !== undefined &&
        splitServiceAccount(requestor.name) !== undefined &&
        bound?.length === 1 &&
        bound[0] === node
      );
    }
    case 'arbitrary-node':
      return onlyName(wanted) && node !== undefined;
    case 'serviceaccount':
      return onlyName(wanted) && splitServiceAccount(wanted.name) !== undefined;
    case 'user-info':
      return node === undefined && splitServiceAccount(wanted.name) === undefined;
    case 'legacy':
      return true;
  }
}

/** Tries the modes in which a user may impersonate another, beginning with the one that last succeeded for this user. */
export class ImpersonationModes {
  private readonly modes: readonly ImpersonationMode[];
  private readonly last = new LruCache<string, ImpersonationMode>({ capacity: REMEMBERED_BYTES, weigh: bytesOf });

  constructor(
    private readonly authorizer: Authorizer,
    constrained: boolean,
  ) {
    watchCache('impersonation_modes', this.last);
    this.modes = constrained ? [...CONSTRAINED, 'legacy'] : ['legacy'];
  }

  /** Returns the user to impersonate, or the error of the first mode that was tried and denied. */
  async resolve(
    wanted: UserInfo,
    attributes: AuthorizerAttributes,
    signal: AbortSignal,
  ): Promise<Impersonated | ApiError> {
    const requestor = attributes.user;
    const remembered = this.last.get(requestor.name);
    const order =
      remembered === undefined ? this.modes : [remembered, ...this.modes.filter((mode) => mode !== remembered)];
    let firstError: ApiError | undefined;
    for (const mode of order) {
      if (!applies(mode, wanted, requestor)) continue;
      const check = new Check(this.authorizer, mode, attributes, signal);
      const error = await check.run(wanted);
      if (error === undefined) {
        if (bytesOf(requestor.name) <= REMEMBERED_BYTES / 64) this.last.set(requestor.name, mode);
        return { user: check.result(wanted), mode };
      }
      firstError ??= error;
    }
    // Legacy always applies, so there is an error here.
    return firstError ?? forbidden(attributes, 'all impersonation modes failed');
  }
}

/** The checks of one mode for one request. */
class Check {
  private readonly constrained: boolean;
  private readonly verb: string;
  private readonly requestor: UserInfo;

  constructor(
    private readonly authorizer: Authorizer,
    private readonly mode: ImpersonationMode,
    private readonly attributes: AuthorizerAttributes,
    private readonly signal: AbortSignal,
  ) {
    this.constrained = mode !== 'legacy';
    this.verb = this.constrained ? `impersonate:${mode}` : 'impersonate';
    // The checks for an associated node must not depend on which node it is.
    this.requestor =
      mode === 'associated-node'
        ? { ...attributes.user, extra: { [ASSOCIATED_KEYS]: Object.keys(attributes.user.extra).sort() } }
        : attributes.user;
  }

  async run(wanted: UserInfo): Promise<ApiError | undefined> {
    if (this.constrained) {
      const verb = `impersonate-on:${this.mode}:${this.attributes.verb}`;
      const error = await this.authorize({ ...this.attributes, user: this.requestor, verb });
      if (error !== undefined) return error;
    }
    return (
      (await this.authorize(this.username(wanted))) ??
      (wanted.uid === ''
        ? undefined
        : await this.authorize(this.attributesFor(AUTHENTICATION_GROUP, 'uids', wanted.uid))) ??
      (await this.groups(wanted.groups)) ??
      (await this.extra(wanted.extra))
    );
  }

  result(wanted: UserInfo): UserInfo {
    const account = splitServiceAccount(wanted.name);
    let groups = [...wanted.groups];
    if (this.constrained && nodeName(wanted.name) !== undefined) groups = [NODES_GROUP];
    else if (account !== undefined && groups.length === 0) {
      groups = [ALL_SERVICE_ACCOUNTS, `${ALL_SERVICE_ACCOUNTS}:${account.namespace}`];
    }
    const ensure = (group: string): void => {
      if (!groups.includes(group)) groups.push(group);
    };
    if (wanted.name === ANONYMOUS) ensure(ALL_UNAUTHENTICATED);
    else if (!groups.includes(ALL_UNAUTHENTICATED)) ensure(ALL_AUTHENTICATED);
    return { name: wanted.name, uid: wanted.uid, groups, extra: wanted.extra };
  }

  private username(wanted: UserInfo): AuthorizerAttributes {
    const plain = this.attributesFor(this.constrained ? AUTHENTICATION_GROUP : '', 'users', wanted.name);
    const node = this.constrained ? nodeName(wanted.name) : undefined;
    if (node !== undefined) {
      return { ...plain, resource: 'nodes', name: this.mode === 'associated-node' ? '*' : node };
    }
    const account = splitServiceAccount(wanted.name);
    if (account === undefined) return plain;
    return { ...plain, resource: 'serviceaccounts', namespace: account.namespace, name: account.name };
  }

  private async groups(groups: readonly string[]): Promise<ApiError | undefined> {
    if (groups.length === 0) return undefined;
    const group = this.constrained ? AUTHENTICATION_GROUP : '';
    if (this.constrained) {
      if (groups.includes('')) {
        return forbidden(
          this.attributesFor(group, 'groups', ''),
          'impersonating the empty string group is not allowed',
        );
      }
      if (groups.includes(SYSTEM_PRIVILEGED_GROUP)) {
        const attributes = this.attributesFor(group, 'groups', SYSTEM_PRIVILEGED_GROUP);
        return forbidden(attributes, 'impersonating the system:masters group is not allowed');
      }
      if (
        groups.length >= WILDCARD_CHECK_THRESHOLD &&
        (await this.authorize(this.attributesFor(group, 'groups', '*'))) === undefined
      )
        return undefined;
    }
    for (const name of groups) {
      const error = await this.authorize(this.attributesFor(group, 'groups', name));
      if (error !== undefined) return error;
    }
    return undefined;
  }

  private async extra(extra: UserInfo['extra']): Promise<ApiError | undefined> {
    const keys = Object.keys(extra);
    if (keys.length === 0) return undefined;
    const attributes = this.attributesFor(AUTHENTICATION_GROUP, 'userextras', '');
    if (this.constrained) {
      const problem = extraProblem(extra);
      if (problem !== undefined) return forbidden(attributes, problem);
      const count = Object.values(extra).reduce((sum, values) => sum + values.length, 0);
      if (keys.length >= WILDCARD_CHECK_THRESHOLD || count >= WILDCARD_CHECK_THRESHOLD) {
        const all = { ...attributes, subresource: '*', name: '*' };
        if ((await this.authorize(all)) === undefined) return undefined;
      }
    }
    for (const key of keys) {
      for (const value of extra[key] ?? []) {
        const error = await this.authorize({ ...attributes, subresource: key, name: value });
        if (error !== undefined) return error;
      }
    }
    return undefined;
  }

  private attributesFor(apiGroup: string, resource: string, name: string): AuthorizerAttributes {
    return {
      user: this.requestor,
      verb: this.verb,
      resourceRequest: true,
      namespace: '',
      apiGroup,
      apiVersion: 'v1',
      resource,
      subresource: '',
      name,
      path: '',
    };
  }

  private async authorize(attributes: AuthorizerAttributes): Promise<ApiError | undefined> {
    const { decision, reason, error } = await this.authorizer.authorize(attributes, this.signal);
    if (decision === 'allow') return undefined;
    if (error === undefined) return forbidden(attributes, reason);
    return forbidden(attributes, reason === '' ? error : `${error}: ${reason}`);
  }
}

/** Returns why extra values cannot be impersonated in a constrained mode; undefined if they can. */
function extraProblem(extra: UserInfo['extra']): string | undefined {
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed';
    const problem = domainPrefixedPathProblem(key);
    if (problem !== undefined) return `impersonating an invalid key in extra is not allowed: ${problem}`;
    if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${quote(key)}`;
    if (values.length === 0) return 'impersonating empty values in extra is not allowed';
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed';
  }
  return undefined;
}

function domainPrefixedPathProblem(key: string): string | undefined {
  const invalid = (why: string): string => `extra.key: Invalid value: ${quote(key)}: ${why}`;
  const at = key.indexOf('/');
  const domain = at < 0 ? '' : key.slice(0, at);
  const path = at < 0 ? '' : key.slice(at + 1);
  if (at < 0 || domain === '' || path === '') {
    return invalid('must be a domain-prefixed path (such as "acme.io/foo")');
  }
  if (!isSubdomain(domain)) {
    return invalid(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
  }
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) {
    return invalid("Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
  }
  return undefined;
}
