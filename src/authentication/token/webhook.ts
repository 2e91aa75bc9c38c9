import type { WebhookTransport, WebhookResponse } from '../../client/webhook/connection.js';
import { withBackoff } from '../../client/webhook/retries.js';
import type { Clock } from '../../util/clock.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import { messageOf } from '../../util/error-message.js';
import { boolField, objectField, stringField, stringsField } from '../../apimachinery/json/go-fields.js';
import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import { answeredObject } from '../../client/webhook/answer.js';
import type { UserInfo } from '../user/user.js';

type TokenReviewVersion = 'v1' | 'v1beta1';

/** The status of a TokenReview. */
interface TokenReviewStatus {
  readonly authenticated: boolean;
  readonly user: UserInfo;
  /** The audiences that the token is valid for; empty: the server itself. */
  readonly audiences: readonly string[];
  /** The reason why the token is invalid, for the client; '' if the service gives none. */
  readonly error: string;
}

/** Returns the body of the request. */
function tokenReviewBody(token: string, audiences: readonly string[], version: TokenReviewVersion): string {
  return stringifyJson({
    kind: 'TokenReview',
    apiVersion: `authentication.k8s.io/${version}`,
    metadata: {},
    spec: { token, ...(audiences.length > 0 && { audiences: [...audiences] }) },
    status: { user: {} },
  });
}

/**
 * Decodes a response; only its status counts. Throws ResponseError, MalformedAnswer and FieldTypeError, whose messages
 * contain none of its values.
 */
function readTokenReview(response: WebhookResponse, version: TokenReviewVersion): TokenReviewStatus {
  const review = answeredObject(response, { group: 'authentication.k8s.io', version, kind: 'TokenReview' });
  const type = 'TokenReviewStatus';
  const status = objectField(review['status'], 'TokenReview.status', `${version}.${type}`);
  return {
    authenticated: boolField(status['authenticated'], `${type}.status.authenticated`) ?? false,
    user: readUser(objectField(status['user'], `${type}.status.user`, `${version}.UserInfo`), version),
    audiences: stringsField(status['audiences'], `${type}.status.audiences`),
    error: stringField(status['error'], `${type}.status.error`),
  };
}

function readUser(user: JsonObject, version: TokenReviewVersion): UserInfo {
  const at = 'UserInfo.status.user';
  const value = `${version}.ExtraValue`;
  const extra: Record<string, readonly string[]> = {};
  for (const [key, values] of Object.entries(objectField(user['extra'], `${at}.extra`, `map[string]${value}`))) {
    extra[key] = stringsField(values, `${at}.extra`, 'string', value);
  }
  return {
    name: stringField(user['username'], `${at}.username`),
    uid: stringField(user['uid'], `${at}.uid`),
    groups: stringsField(user['groups'], `${at}.groups`),
    extra,
  };
}

export const TOKEN_REVIEW_TIMEOUT_MILLIS = 30_000;

export interface WebhookTokenOptions {
  readonly version: TokenReviewVersion;
  /** The audiences of the server. */
  readonly audiences: readonly string[];
  readonly transport: WebhookTransport;
  readonly clock: Clock;
  /** Returns a number in [0, 1) for the jitter of retries. */
  readonly random: () => number;
  /** Called for every failed call; the text contains no token. */
  readonly failed: (text: string) => void;
}

/** Authenticates tokens with TokenReviews of a remote service. This is slow: put a cache in front of it. */
export class WebhookTokenAuthenticator implements TokenAuthenticator {
  constructor(private readonly options: WebhookTokenOptions) {}

  async authenticateToken(
    token: string,
    asked: readonly string[],
    signal: AbortSignal,
  ): Promise<AuthenticationResponse | undefined> {
    const { audiences: own, version, failed } = this.options;
    const wanted = asked.length === 0 ? own : asked;
    let status: TokenReviewStatus;
    try {
      const body = tokenReviewBody(token, wanted, version);
      status = await withBackoff(() => this.ask(body, signal), this.options, signal);
    } catch (error) {
      const why = messageOf(error);
      failed(why);
      throw new AuthenticationError(why);
    }
    // A service that does not support audiences authenticates for the server itself.
    const held = status.audiences.length === 0 ? own : status.audiences;
    const audiences = wanted.filter((audience) => held.includes(audience));
    if (wanted.length > 0 && audiences.length === 0) return undefined;
    if (!status.authenticated) {
      if (status.error === '') return undefined;
      throw new AuthenticationError(status.error, { exposeToClient: true });
    }
    if (status.user.name === '') throw new AuthenticationError('the webhook authenticated a user without a name');
    return { user: status.user, audiences };
  }

  private async ask(body: string, signal: AbortSignal): Promise<TokenReviewStatus> {
    const { transport, version } = this.options;
    return readTokenReview(await transport.post(body, TOKEN_REVIEW_TIMEOUT_MILLIS, signal), version);
  }
}
