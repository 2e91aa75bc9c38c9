import { flagField, objectField, textField, textsField } from '../../apimachinery/json/go-fields.js';
import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import { answeredObject } from '../../client/webhook/answer.js';
import type { WebhookResponse } from '../../client/webhook/connection.js';
import type { UserInfo } from '../user/user.js';

export type TokenReviewVersion = 'v1' | 'v1beta1';

/** What the remote service says of a token. */
export interface TokenReviewStatus {
  readonly authenticated: boolean;
  readonly user: UserInfo;
  /** For whom the token is valid; empty: for the server itself. */
  readonly audiences: readonly string[];
  /** Why it is not, for the client to read; '' where nothing is said. */
  readonly error: string;
}

/** The request's body. */
export function tokenReviewBody(token: string, audiences: readonly string[], version: TokenReviewVersion): string {
  return stringifyJson({
    kind: 'TokenReview',
    apiVersion: `authentication.k8s.io/${version}`,
    metadata: {},
    spec: { token, ...(audiences.length > 0 && { audiences: [...audiences] }) },
    status: { user: {} },
  });
}

/** Reads an answer; only its status counts. Throws ResponseError, MalformedAnswer and FieldTypeError; their texts show nothing of its values. */
export function readTokenReview(response: WebhookResponse, version: TokenReviewVersion): TokenReviewStatus {
  const review = answeredObject(response, { group: 'authentication.k8s.io', version, kind: 'TokenReview' });
  const type = 'TokenReviewStatus';
  const status = objectField(review['status'], 'TokenReview.status', `${version}.${type}`);
  return {
    authenticated: flagField(status['authenticated'], `${type}.status.authenticated`) ?? false,
    user: readUser(objectField(status['user'], `${type}.status.user`, `${version}.UserInfo`), version),
    audiences: textsField(status['audiences'], `${type}.status.audiences`),
    error: textField(status['error'], `${type}.status.error`),
  };
}

function readUser(user: JsonObject, version: TokenReviewVersion): UserInfo {
  const at = 'UserInfo.status.user';
  const value = `${version}.ExtraValue`;
  const extra: Record<string, readonly string[]> = {};
  for (const [key, values] of Object.entries(objectField(user['extra'], `${at}.extra`, `map[string]${value}`))) {
    extra[key] = textsField(values, `${at}.extra`, 'string', value);
  }
  return {
    name: textField(user['username'], `${at}.username`),
    uid: textField(user['uid'], `${at}.uid`),
    groups: textsField(user['groups'], `${at}.groups`),
    extra,
  };
}
