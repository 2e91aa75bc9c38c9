import type { TokenReview, TokenReviewSpec } from '../../../apimachinery/generated/authentication.js';
import { newBadRequest, newInternalError } from '../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { formatTime, type KubeObject } from '../../../apimachinery/meta/meta.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../../../authentication/authenticator/interfaces.js';
import { bearerTokenOf } from '../../../authentication/request/bearer-token.js';
import {
  ALL_AUTHENTICATED,
  ALL_UNAUTHENTICATED,
  ANONYMOUS,
  type UserInfo,
  userInfoJson,
} from '../../../authentication/user/user.js';
import type { Clock } from '../../../util/clock.js';
import type { CreateOnlyType } from '../../rest/create-only.js';
import { reviewNames } from '../shared/review-names.js';

const GROUP = 'authentication.k8s.io';

const INVALID_TOKEN = 'invalid bearer token';

export interface AuthenticationReviewDependencies {
  /** All token authenticators of the server. If undefined, it has none, and reviews return an empty status. */
  readonly tokens: TokenAuthenticator | undefined;
  /** The audiences that a token must be valid for if a review names none (`--api-audiences`). */
  readonly apiAudiences: readonly string[];
  readonly clock: Clock;
}

/** The review kinds of authentication.k8s.io/v1. */
export function authenticationReviews(dependencies: AuthenticationReviewDependencies): readonly CreateOnlyType[] {
  const { clock } = dependencies;
  return [
    {
      ...reviewNames(GROUP, 'SelfSubjectReview', 'Cluster'),
      create: (context) => Promise.resolve(selfSubjectReview(context.user, clock.now())),
    },
    {
      ...reviewNames(GROUP, 'TokenReview', 'Cluster'),
      create: (context, object, namespace) => tokenReview(object, namespace, context.signal, dependencies),
    },
  ];
}

/** Returns a review of the request's user, whatever object was sent. */
function selfSubjectReview(user: UserInfo, now: number): KubeObject {
  return {
    kind: 'SelfSubjectReview',
    apiVersion: `${GROUP}/v1`,
    metadata: { creationTimestamp: formatTime(now) },
    status: { userInfo: userInfoJson(user) },
  };
}

async function tokenReview(
  object: TokenReview,
  namespace: string,
  signal: AbortSignal,
  { tokens, apiAudiences }: AuthenticationReviewDependencies,
): Promise<KubeObject> {
  if (namespace !== '') throw newBadRequest(`namespace is not allowed on this type: ${namespace}`);
  const { token = '', audiences: asked = [] }: TokenReviewSpec = object.spec ?? {};
  if (token === '') throw newBadRequest('token is required for TokenReview in authentication');
  // A status sent by the client must never be returned as the server's own.
  object.status = { user: {} };
  if (tokens === undefined) return object;
  const audiences = asked.length === 0 ? apiAudiences : asked;
  // As in a header, surrounding spaces are ignored.
  const bare = bearerTokenOf(`Bearer ${token}`) ?? '';
  const outcome = bare === '' ? INVALID_TOKEN : await authenticate(tokens, bare, audiences, signal);
  object.status = typeof outcome === 'string' ? { user: {}, error: outcome } : status(outcome, audiences, apiAudiences);
  return object;
}

/** Returns the authentication response, or the error if the token is rejected. */
async function authenticate(
  tokens: TokenAuthenticator,
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
): Promise<AuthenticationResponse | string> {
  try {
    return (await tokens.authenticateToken(token, audiences, signal)) ?? INVALID_TOKEN;
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    return alsoInvalid(error.message);
  }
}

/** Adds the error of kube-apiserver's authenticator for its own loopback token, which rejects the token as well. */
function alsoInvalid(text: string): string {
  if (text === INVALID_TOKEN) return INVALID_TOKEN;
  const several = text.startsWith('[') && text.endsWith(']');
  return `[${INVALID_TOKEN}, ${several ? text.slice(1, -1) : text}]`;
}

function status(
  { user, audiences: own }: AuthenticationResponse,
  audiences: readonly string[],
  apiAudiences: readonly string[],
): JsonObject {
  // An authenticator that ignores audiences vouches for the server's own ones.
  const valid = own ?? audiences.filter((audience) => apiAudiences.includes(audience));
  const common = audiences.some((audience) => valid.includes(audience));
  if (audiences.length > 0 && !common) {
    if (own === undefined) return { user: {}, error: INVALID_TOKEN };
    throw newInternalError('error validating audiences');
  }
  return {
    authenticated: true,
    user: userInfoJson(withAuthenticatedGroup(user)),
    ...(valid.length > 0 && { audiences: [...valid] }),
  };
}

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  const known = groups.includes(ALL_AUTHENTICATED) || groups.includes(ALL_UNAUTHENTICATED);
  return known || name === ANONYMOUS ? user : { ...user, groups: [...groups, ALL_AUTHENTICATED] };
}
