import { createHash } from 'node:crypto';
import { goKind, JsonError, parseJson } from '../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../apimachinery/json/json.js';
import type { Revision } from './interfaces.js';

/** A Kubernetes continue token: base64url JSON of the version, the revision and the start key, plus the identity of the log. */
export interface ContinueToken {
  /** -1: continue at the newest revision (an inconsistent list, which the client has accepted). */
  readonly revision: Revision;
  /** The identity of the log that the revision belongs to; undefined if the token names none, like the tokens of kube-apiserver. */
  readonly log?: string | undefined;
  /** The first key to return, relative to the list's prefix. */
  readonly startKey: string;
  /** What the list asks for beyond kube-apiserver's parameters; undefined for a list without such. */
  readonly bound?: Bound | undefined;
}

/** What the token of a list with an expression carries besides. */
export interface Bound {
  /** The time of the first page, in milliseconds since the epoch. */
  readonly now: number;
  /** A digest of the token and of what it belongs to. */
  readonly sum: string;
}

/** Thrown if a token cannot be used; the message is the text of a 400. */
export class ContinueTokenError extends Error {
  override readonly name = 'ContinueTokenError';
}

const VERSION = 'meta.k8s.io/v1';

/** The revision that kube-apiserver reads from a token of Annex. It is compacted in any cluster older than a few minutes. */
const COMPACTED_ELSEWHERE = 1;

/**
 * Encodes a token. If it names a log, the revision is in a field that kube-apiserver ignores: when a type moves between the two servers,
 * their revisions overlap, and a list must not continue in the history of another log.
 */
export function encodeContinueToken({ revision, startKey, log, bound }: ContinueToken): string {
  const isHere = (log !== undefined || bound !== undefined) && revision >= 0;
  const fields = {
    v: VERSION,
    rv: isHere ? COMPACTED_ELSEWHERE : revision,
    start: startKey,
    ...(isHere && { log, at: revision }),
    ...bound,
  };
  return Buffer.from(JSON.stringify(fields), 'utf8').toString('base64url');
}

/**
 * Decodes a token. The caller joins its key to the request's own prefix. A key that would lead out of that prefix (`..`, an absolute path,
 * empty segments) is rejected, so a forged token reaches nothing beyond the request.
 */
export function decodeContinueToken(text: string): ContinueToken {
  const token = parse(text);
  checkTypes(token);
  const version = stringAt(token, 'v') ?? '';
  if (version !== VERSION) {
    throw new ContinueTokenError(
      `continue key is not valid: server does not recognize this encoded version ${version}`,
    );
  }
  const revision = Number(token['rv'] ?? 0);
  if (revision === 0) {
    throw new ContinueTokenError(
      'continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    );
  }
  const start = stringAt(token, 'start') ?? '';
  if (start === '') {
    throw new ContinueTokenError('continue key is not valid: encoded start key empty (version meta.k8s.io/v1)');
  }
  const key = start.startsWith('/') ? start.slice(1) : start;
  if (key.split('/').some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw new ContinueTokenError(`continue key is not valid: ${start}`);
  }
  const log = stringAt(token, 'log');
  const at = token['at'];
  const bound = boundOf(token);
  const isHere =
    (log !== undefined || bound !== undefined) && typeof at === 'number' && Number.isSafeInteger(at) && at > 0;
  return isHere ? { revision: at, startKey: key, log, bound } : { revision, startKey: key, bound };
}

function boundOf(token: JsonObject): Bound | undefined {
  const { now, sum } = token;
  return typeof now === 'number' && Number.isSafeInteger(now) && typeof sum === 'string' ? { now, sum } : undefined;
}

/** Returns what a token carries of its list; undefined if it carries nothing or is no token. */
export function boundTo(text: string): Bound | undefined {
  if (text === '') return undefined;
  try {
    return decodeContinueToken(text).bound;
  } catch (error) {
    if (error instanceof ContinueTokenError) return undefined;
    throw error;
  }
}

/**
 * Returns the digest of a token that belongs to a list, which `binding` describes. It tells tokens of other lists apart. It need not be
 * secret: whatever a token says, it leads to nothing but what its request may list.
 */
export function digestOf(binding: string, { revision, startKey, log }: ContinueToken, now: number): string {
  const text = JSON.stringify([binding, revision, startKey, log ?? '', now]);
  return createHash('sha256').update(text).digest('base64url');
}

/** Rejects fields of the wrong type. The message names the first one, like Go's decoder. */
function checkTypes(token: JsonObject): void {
  for (const key in token) {
    const value = token[key];
    if (value === null || value === undefined || !['v', 'rv', 'start'].includes(key)) continue;
    const number = typeof value === 'number' || typeof value === 'bigint';
    if (key === 'rv' ? number && (typeof value === 'bigint' || Number.isInteger(value)) : typeof value === 'string')
      continue;
    const what = key === 'rv' && number ? `number ${String(value)}` : goKind(value);
    const type = key === 'rv' ? 'int64' : 'string';
    throw new ContinueTokenError(
      `continue key is not valid: json: cannot unmarshal ${what} into Go struct field continueToken.${key} of type ${type}`,
    );
  }
}

function parse(text: string): JsonObject {
  const illegal = /[^A-Za-z0-9_-]/.exec(text);
  if (illegal !== null || text.length % 4 === 1) {
    const at = illegal?.index ?? text.length - 1;
    throw new ContinueTokenError(`continue key is not valid: illegal base64 data at input byte ${at}`);
  }
  let value: JsonValue;
  try {
    value = parseJson(Buffer.from(text, 'base64url'));
  } catch (error) {
    if (error instanceof JsonError) throw new ContinueTokenError(`continue key is not valid: ${error.message}`);
    throw error;
  }
  // As in Go, null leaves every field empty.
  if (value === null) return {};
  if (isObject(value)) return value;
  throw new ContinueTokenError(
    `continue key is not valid: json: cannot unmarshal ${goKind(value)} into Go value of type storage.continueToken`,
  );
}
