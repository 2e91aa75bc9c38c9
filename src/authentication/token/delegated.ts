import { hash, randomBytes } from 'node:crypto';
import { isObject, type JsonObject, objectAt, stringAt, stringsOf } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import { TtlCache } from '../../util/caches/ttl-cache.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import type { UserInfo } from '../user/user.js';

const CAPACITY = 10_000;

export interface DelegatedAuthenticationOptions {
  readonly clock: Clock;
  /** How long responses are cached, in milliseconds. */
  readonly ttl: number;
  /** Posts a TokenReview to the cluster and returns the status and body of the response. Throws if there is no response. */
  post(review: JsonObject): Promise<{ readonly status: number; readonly body: JsonObject }>;
  observe(outcome: 'answered' | 'failed'): void;
}

interface CachedResponse {
  readonly answer: AuthenticationResponse | undefined;
}

/** Delegates token authentication to the cluster's API server. Caches salted digests, never the tokens themselves. */
export class DelegatedTokenAuthenticator implements TokenAuthenticator {
  private readonly salt = randomBytes(32).toString('latin1');
  private readonly known: TtlCache<CachedResponse>;
  private readonly inFlight = new Map<string, Promise<AuthenticationResponse | undefined>>();

  constructor(private readonly options: DelegatedAuthenticationOptions) {
    this.known = new TtlCache(CAPACITY, options.clock);
  }

  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const key = hash('sha256', JSON.stringify([this.salt, token, ...audiences]), 'base64');
    const known = this.known.get(key);
    if (known !== undefined) return Promise.resolve(known.answer);
    let answer = this.inFlight.get(key);
    if (answer === undefined) {
      answer = this.postReview(token, audiences, key).finally(() => this.inFlight.delete(key));
      this.inFlight.set(key, answer);
    }
    return answer;
  }

  private async postReview(
    token: string,
    audiences: readonly string[],
    key: string,
  ): Promise<AuthenticationResponse | undefined> {
    let status: JsonObject;
    try {
      const spec: JsonObject = { token, ...(audiences.length > 0 ? { audiences: [...audiences] } : {}) };
      const answer = await this.options.post({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec });
      if (answer.status !== 200 && answer.status !== 201) throw new Error(`status ${answer.status}`);
      status = objectAt(answer.body, 'status') ?? {};
      this.options.observe('answered');
    } catch {
      // The error may contain the token, so it is not passed on.
      this.options.observe('failed');
      throw new AuthenticationError('the TokenReview request to the cluster failed');
    }
    const response = responseOf(status);
    this.known.set(key, { answer: response }, this.options.ttl);
    return response;
  }
}

function responseOf(status: JsonObject): AuthenticationResponse | undefined {
  if (status['authenticated'] !== true) return undefined;
  const user = objectAt(status, 'user') ?? {};
  const info: UserInfo = {
    name: stringAt(user, 'username') ?? '',
    uid: stringAt(user, 'uid') ?? '',
    groups: stringsOf(user['groups']),
    extra: extraOf(user['extra']),
  };
  return { user: info, audiences: stringsOf(status['audiences']) };
}

function extraOf(value: JsonObject[string]): Record<string, readonly string[]> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, values]) => [key, stringsOf(values)]));
}
