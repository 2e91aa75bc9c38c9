import { hash, randomBytes } from 'node:crypto';
import { isObject, type JsonObject, objectAt, stringAt, stringsOf } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import { CachedCalls } from '../../scheduling/cached-calls.js';
import { responseBytes } from './response-bytes.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import type { UserInfo } from '../user/user.js';

/** The maximum number of bytes of all cached responses. */
const MAX_BYTES = 16 << 20;
/** The maximum number of concurrent reviews, and of those that wait for a place among them. */
const MAX_REVIEWS = 200;
const MAX_WAITING = 1000;
/** How long a review waits for others, in milliseconds. */
const WAIT_MILLIS = 10_000;

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
  private readonly reviews: CachedCalls<CachedResponse>;

  constructor(private readonly options: DelegatedAuthenticationOptions) {
    this.reviews = new CachedCalls({
      name: 'delegated_authentication',
      clock: options.clock,
      maxBytes: MAX_BYTES,
      weigh: ({ answer }) => responseBytes(answer),
      max: MAX_REVIEWS,
      maxPerFlow: MAX_REVIEWS,
      maxWaiting: MAX_WAITING,
      maxWaitingPerFlow: MAX_WAITING,
      waitMillis: WAIT_MILLIS,
    });
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const key = hash('sha256', JSON.stringify([this.salt, token, ...audiences]), 'base64');
    const known = this.reviews.known(key);
    const { answer } = known ?? (await this.reviews.shared(key, () => this.postReview(token, audiences, key)).outcome);
    return answer;
  }

  private async postReview(token: string, audiences: readonly string[], key: string): Promise<CachedResponse> {
    let status: JsonObject;
    try {
      const spec: JsonObject = { token, ...(audiences.length > 0 ? { audiences: [...audiences] } : {}) };
      const review: JsonObject = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec };
      // Nobody knows the user of a token before the review, so all tokens are one flow.
      const answer = await this.reviews.run('', () => this.options.post(review));
      if (answer.status !== 200 && answer.status !== 201) throw new Error(`status ${answer.status}`);
      status = objectAt(answer.body, 'status') ?? {};
      this.options.observe('answered');
    } catch {
      // The error may contain the token, so it is not passed on.
      this.options.observe('failed');
      throw new AuthenticationError('the TokenReview request to the cluster failed');
    }
    const response = { answer: responseOf(status) };
    this.reviews.remember(key, response, this.options.ttl);
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
