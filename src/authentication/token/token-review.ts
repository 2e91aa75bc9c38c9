import { parseJson } from '../../apimachinery/decode-json.js';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  stringAt,
  stringifyJson,
} from '../../apimachinery/json.js';
import { texts } from './jws.js';
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

/** An answer that is no TokenReview, or not of the version asked for. Its text shows nothing of the answer's values. */
export class MalformedTokenReview extends Error {
  override readonly name = 'MalformedTokenReview';
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

/** Reads an answer; only its status counts. Throws MalformedTokenReview. */
export function readTokenReview(body: string, version: TokenReviewVersion): TokenReviewStatus {
  const value = parsed(body);
  const kind = stringAt(value, 'kind') ?? '';
  const apiVersion = stringAt(value, 'apiVersion') ?? '';
  if (kind !== 'TokenReview' || apiVersion !== `authentication.k8s.io/${version}`) {
    throw new MalformedTokenReview(`expected a TokenReview of authentication.k8s.io/${version}`);
  }
  const status = objectAt(value, 'status') ?? {};
  const authenticated = status['authenticated'] ?? false;
  if (typeof authenticated !== 'boolean') throw new MalformedTokenReview('status.authenticated is not a boolean');
  return {
    authenticated,
    user: readUser(objectAt(status, 'user') ?? {}),
    audiences: list(status['audiences'], 'status.audiences'),
    error: text(status['error'], 'status.error'),
  };
}

function parsed(body: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(body);
  } catch {
    throw new MalformedTokenReview('the answer is not JSON');
  }
  if (!isObject(value)) throw new MalformedTokenReview('the answer is not an object');
  return value;
}

function readUser(user: JsonObject): UserInfo {
  const extra: Record<string, readonly string[]> = {};
  for (const [key, values] of Object.entries(objectAt(user, 'extra') ?? {})) {
    extra[key] = list(values, 'status.user.extra');
  }
  return {
    name: text(user['username'], 'status.user.username'),
    uid: text(user['uid'], 'status.user.uid'),
    groups: list(user['groups'], 'status.user.groups'),
    extra,
  };
}

function text(value: JsonValue | undefined, where: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new MalformedTokenReview(`${where} is not a string`);
  return value;
}

function list(value: JsonValue | undefined, where: string): readonly string[] {
  if (value === undefined || value === null) return [];
  const items = Array.isArray(value) ? texts(value) : undefined;
  if (items === undefined) throw new MalformedTokenReview(`${where} is not a list of strings`);
  return items;
}
