import { fn, type Implementation, method } from '../declarations.js';
import type { Library } from './library.js';
import { BOOL, STRING, objectType } from '../types.js';
import { CelError, NO_SUCH_OVERLOAD, Opaque, type Value } from '../values/value.js';
import { isLabel, isSubdomain } from './kubernetes/named-formats.js';
import { typeConstant } from './standard.js';

const AUTHORIZER = objectType('kubernetes.authorization.Authorizer');
const PATH_CHECK = objectType('kubernetes.authorization.PathCheck');
const GROUP_CHECK = objectType('kubernetes.authorization.GroupCheck');
const RESOURCE_CHECK = objectType('kubernetes.authorization.ResourceCheck');
const DECISION = objectType('kubernetes.authorization.Decision');

/** An authorization check in an expression. Exactly one of path and resource is set. */
export interface AuthorizationQuery {
  readonly verb: string;
  readonly path?: string;
  readonly resource?: ResourceQuery;
  /** The service account to check instead of the user, set by `serviceAccount(…)`. */
  readonly serviceAccount?: ServiceAccount;
}

interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

export interface ResourceQuery {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  /** The error, if the authorizer failed. */
  readonly error?: string;
}

/** Answers authorization checks, synchronously or asynchronously. */
export type Authorize = (query: AuthorizationQuery) => AuthorizationAnswer | Promise<AuthorizationAnswer>;

/** Thrown if an evaluation needs an answer that is still pending. The caller waits for it and evaluates again. */
export class AnswerPending extends Error {
  constructor(readonly answer: Promise<void>) {
    super('an authorization check is pending');
  }
}

abstract class Receiver extends Opaque {
  equals(other: Value): boolean | CelError {
    return this === other ? true : NO_SUCH_OVERLOAD;
  }
}

/** The value of the variable `authorizer`. It caches the answers, so that an evaluation can be repeated. */
export class AuthorizerValue extends Receiver {
  readonly typeName = AUTHORIZER.name;

  constructor(
    private readonly authorize: Authorize,
    private readonly serviceAccount?: ServiceAccount,
    private readonly answers = new Map<string, AuthorizationAnswer>(),
  ) {
    super();
  }

  as(namespace: string, name: string): AuthorizerValue {
    return new AuthorizerValue(this.authorize, { namespace, name }, this.answers);
  }

  decide(attributes: Omit<AuthorizationQuery, 'serviceAccount'>): AuthorizationAnswer {
    const query: AuthorizationQuery =
      this.serviceAccount === undefined ? attributes : { ...attributes, serviceAccount: this.serviceAccount };
    const key = JSON.stringify(query);
    const known = this.answers.get(key);
    if (known !== undefined) return known;
    const answer = this.authorize(query);
    if (!(answer instanceof Promise)) {
      this.answers.set(key, answer);
      return answer;
    }
    throw new AnswerPending(answer.then((arrived) => void this.answers.set(key, arrived)));
  }
}

class PathCheck extends Receiver {
  readonly typeName = PATH_CHECK.name;
  constructor(
    readonly authorizer: AuthorizerValue,
    readonly path: string,
  ) {
    super();
  }
}

class GroupCheck extends Receiver {
  readonly typeName = GROUP_CHECK.name;
  constructor(
    readonly authorizer: AuthorizerValue,
    readonly group: string,
  ) {
    super();
  }
}

/** The value of the variable `authorizer.requestResource` and of `authorizer.group(g).resource(r)`. */
export class ResourceCheck extends Receiver {
  readonly typeName = RESOURCE_CHECK.name;
  constructor(
    readonly authorizer: AuthorizerValue,
    readonly query: ResourceQuery,
  ) {
    super();
  }

  with(part: Partial<ResourceQuery>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.query, ...part });
  }
}

class Decision extends Receiver {
  readonly typeName = DECISION.name;
  constructor(readonly answer: AuthorizationAnswer) {
    super();
  }
}

const EMPTY = { subresource: '', namespace: '', name: '', fieldSelector: '', labelSelector: '' };
function serviceAccount(authorizer: Value, namespace: Value, name: Value): Value {
  if (!(authorizer instanceof AuthorizerValue) || typeof namespace !== 'string' || typeof name !== 'string')
    return NO_SUCH_OVERLOAD;
  if (name.length > 253 || !isSubdomain(name)) return new CelError('Invalid service account name');
  if (namespace.length > 63 || !isLabel(namespace)) return new CelError('Invalid service account namespace');
  return authorizer.as(namespace, name);
}

const onAuthorizer =
  (run: (authorizer: AuthorizerValue, text: string) => Value): Implementation =>
  (value, text) =>
    value instanceof AuthorizerValue && typeof text === 'string' ? run(value, text) : NO_SUCH_OVERLOAD;

const path = (authorizer: AuthorizerValue, text: string): Value =>
  text.trim() === '' ? new CelError('path must not be empty') : new PathCheck(authorizer, text);
const group = (authorizer: AuthorizerValue, name: string): Value => new GroupCheck(authorizer, name);

function resource(check: Value, name: Value): Value {
  if (!(check instanceof GroupCheck) || typeof name !== 'string') return NO_SUCH_OVERLOAD;
  if (name.trim() === '') return new CelError('resource must not be empty');
  return new ResourceCheck(check.authorizer, { ...EMPTY, group: check.group, resource: name });
}

const narrowed =
  (key: keyof ResourceQuery): Implementation =>
  (check, text) =>
    check instanceof ResourceCheck && typeof text === 'string' ? check.with({ [key]: text }) : NO_SUCH_OVERLOAD;

function check(value: Value, verb: Value): Value {
  if (typeof verb !== 'string') return NO_SUCH_OVERLOAD;
  if (value instanceof PathCheck) return new Decision(value.authorizer.decide({ verb, path: value.path }));
  return value instanceof ResourceCheck
    ? new Decision(value.authorizer.decide({ verb, resource: value.query }))
    : NO_SUCH_OVERLOAD;
}

const onDecision =
  (run: (answer: AuthorizationAnswer) => Value): Implementation =>
  (value) =>
    value instanceof Decision ? run(value.answer) : NO_SUCH_OVERLOAD;

const isErrored = (answer: AuthorizationAnswer): boolean => answer.error !== undefined;
const errorOf = (answer: AuthorizationAnswer): string => answer.error ?? '';
const isAllowed = (answer: AuthorizationAnswer): boolean => answer.allowed;
const reasonOf = (answer: AuthorizationAnswer): string => answer.reason;

/** The types of the authorizer variables. */
export const AUTHORIZER_TYPES = { authorizer: AUTHORIZER, resourceCheck: RESOURCE_CHECK } as const;

export const AUTHORIZER_LIBRARY: Library = {
  types: [AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION].map(typeConstant),
  functions: [
    fn('path', method('authorizer_path', [AUTHORIZER, STRING], PATH_CHECK, onAuthorizer(path))),
    fn('group', method('authorizer_group', [AUTHORIZER, STRING], GROUP_CHECK, onAuthorizer(group))),
    fn('serviceAccount', method('authorizer_serviceaccount', [AUTHORIZER, STRING, STRING], AUTHORIZER, serviceAccount)),
    fn('resource', method('groupcheck_resource', [GROUP_CHECK, STRING], RESOURCE_CHECK, resource)),
    fn(
      'subresource',
      method('resourcecheck_subresource', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, narrowed('subresource')),
    ),
    fn('namespace', method('resourcecheck_namespace', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, narrowed('namespace'))),
    fn('name', method('resourcecheck_name', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, narrowed('name'))),
    fn(
      'check',
      method('pathcheck_check', [PATH_CHECK, STRING], DECISION, check),
      method('resourcecheck_check', [RESOURCE_CHECK, STRING], DECISION, check),
    ),
    fn('errored', method('decision_errored', [DECISION], BOOL, onDecision(isErrored))),
    fn('error', method('decision_error', [DECISION], STRING, onDecision(errorOf))),
    fn('allowed', method('decision_allowed', [DECISION], BOOL, onDecision(isAllowed))),
    fn('reason', method('decision_reason', [DECISION], STRING, onDecision(reasonOf))),
  ],
};

export const SELECTORS_LIBRARY: Library = {
  functions: [
    fn(
      'fieldSelector',
      method('authorizer_fieldselector', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, narrowed('fieldSelector')),
    ),
    fn(
      'labelSelector',
      method('authorizer_labelselector', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, narrowed('labelSelector')),
    ),
  ],
};
