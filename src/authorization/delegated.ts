import { type JsonObject, stringAt, stringifyJson } from '../apimachinery/json/json.js';
import type { Clock } from '../util/clock.js';
import type { Authorizer, AuthorizationResult, AuthorizerAttributes } from './authorizer/interfaces.js';
import { result } from './authorizer/results.js';
import { reviewSpec, reviewStatus } from './webhook/review.js';
import { TtlCache } from '../util/caches/ttl-cache.js';
import { messageOf } from '../util/error-message.js';
import type { MaybePromise } from '../util/maybe-promise.js';

const CAPACITY = 10_000;

export interface DelegatedAuthorizationOptions {
  readonly clock: Clock;
  /** How long allowed and denied decisions are cached, in milliseconds. */
  readonly allowedTtl: number;
  readonly deniedTtl: number;
  /** Non-resource paths that are allowed for every user. A path that ends with `*` matches every path with that prefix. */
  readonly alwaysAllowPaths: readonly string[];
  /** Posts a SubjectAccessReview to the cluster and returns the status and body of the response. Throws if there is no response. */
  post(review: JsonObject): Promise<{ readonly status: number; readonly body: JsonObject }>;
  /** Called after each review, with whether it failed. */
  observe(outcome: 'answered' | 'failed'): void;
}

/**
 * Delegates authorization to the cluster's API server. Concurrent checks with the same attributes share one review. If
 * a review fails, nothing is allowed.
 */
export class DelegatedAuthorizer implements Authorizer {
  private readonly cache: TtlCache<AuthorizationResult>;
  private readonly asking = new Map<string, Promise<AuthorizationResult>>();

  constructor(private readonly options: DelegatedAuthorizationOptions) {
    this.cache = new TtlCache(CAPACITY, options.clock);
  }

  authorize(attributes: AuthorizerAttributes): MaybePromise<AuthorizationResult> {
    if (!attributes.resourceRequest && this.isOpen(attributes.path)) return result('allow', '');
    const spec = reviewSpec(attributes);
    const key = stringifyJson(spec);
    const known = this.cache.get(key);
    if (known !== undefined) return known;
    let answer = this.asking.get(key);
    if (answer === undefined) {
      answer = this.ask(key, spec).finally(() => this.asking.delete(key));
      this.asking.set(key, answer);
    }
    return answer;
  }

  private isOpen(path: string): boolean {
    return this.options.alwaysAllowPaths.some((open) =>
      open.endsWith('*') ? path.startsWith(open.slice(0, -1)) : path === open,
    );
  }

  private async ask(key: string, spec: JsonObject): Promise<AuthorizationResult> {
    try {
      const { status, body } = await this.options.post({
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec,
      });
      if (status !== 200 && status !== 201) throw new Error(stringAt(body, 'message') ?? `status ${status}`);
      const review = reviewStatus(body, 'v1');
      const decision = review.allowed ? 'allow' : review.denied ? 'deny' : 'no-opinion';
      const answer = result(decision, review.reason);
      this.cache.set(key, answer, review.allowed ? this.options.allowedTtl : this.options.deniedTtl);
      this.options.observe('answered');
      return answer;
    } catch (error) {
      this.options.observe('failed');
      return result('no-opinion', '', `the SubjectAccessReview failed: ${messageOf(error)}`);
    }
  }
}
