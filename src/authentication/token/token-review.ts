import { boolField, objectField, stringField, stringsField } from '../../apimachinery/json/go-fields.js';
import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import { answeredObject } from '../../client/webhook/answer.js';
import type { WebhookResponse } from '../../client/webhook/connection.js';
import type { UserInfo } from '../user/user.js';

export type TokenReviewVersion = 'v1' | 'v1beta1';

/** The status of a TokenReview. */
export interface TokenReviewStatus {
  readonly authenticated: boolean;
  readonly user: UserInfo;
  /** The audiences that the token is valid for; empty: the server itself. */
  readonly audiences: readonly string[];
  /** The reason why the token is invalid, for the client; '' if the service gives none. */
  readonly error: string;
}

/** Returns the body of the request. */
export function tokenReviewBody(token: string, audiences: readonly string[], version: TokenReviewVersion): string {
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
export function readTokenReview(response: WebhookResponse, version: TokenReviewVersion): TokenReviewStatus {
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
