import { type JsonObject, stringAt, stringifyJson } from '../apimachinery/json/json.js';
import type { Clock } from '../util/clock.js';
import type { Authorizer, AuthorizationResult, AuthorizerAttributes } from './authorizer/interfaces.js';
import { result } from './authorizer/results.js';
import { reviewSpec, reviewStatus } from './webhook/review.js';
import { boundedKey } from '../util/caches/ttl-cache.js';
import { CachedCalls } from '../scheduling/cached-calls.js';
import { messageOf } from '../util/error-message.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/** The maximum number of bytes of all cached decisions. */
const MAX_BYTES = 16 << 20;
/** The maximum number of concurrent reviews, of which one user may have three quarters. */
const MAX_REVIEWS = 200;
/** How long a check waits for the reviews of others, in milliseconds. */
const WAIT_MILLIS = 10_000;

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
 * a review fails, nothing is allowed. Reviews are bounded in number, and users take turns.
 */
export class DelegatedAuthorizer implements Authorizer {
  /** Flows are users. A watch is not counted among the requests in flight, but its review is. */
  private readonly reviews: CachedCalls<AuthorizationResult>;

  constructor(private readonly options: DelegatedAuthorizationOptions) {
    this.reviews = new CachedCalls({
      name: 'delegated_authorization',
      clock: options.clock,
      maxBytes: MAX_BYTES,
      weigh: ({ reason }) => 2 * reason.length,
      max: MAX_REVIEWS,
      waitMillis: WAIT_MILLIS,
    });
  }

  /** The size of the cache. */
  get cached(): { readonly size: number; readonly weight: number } {
    return this.reviews.cached;
  }

  authorize(attributes: AuthorizerAttributes): MaybePromise<AuthorizationResult> {
    if (!attributes.resourceRequest && this.isOpen(attributes.path)) return result('allow', '');
    const spec = reviewSpec(attributes);
    const key = boundedKey(stringifyJson(spec));
    const known = this.reviews.known(key);
    return known ?? this.reviews.shared(key, () => this.ask(key, spec, attributes.user.name)).outcome;
  }

  private isOpen(path: string): boolean {
    return this.options.alwaysAllowPaths.some((open) =>
      open.endsWith('*') ? path.startsWith(open.slice(0, -1)) : path === open,
    );
  }

  private async ask(key: string, spec: JsonObject, user: string): Promise<AuthorizationResult> {
    try {
      const { status, body } = await this.reviews.run(user, () =>
        this.options.post({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }),
      );
      if (status !== 200 && status !== 201) throw new Error(stringAt(body, 'message') ?? `status ${status}`);
      const review = reviewStatus(body, 'v1');
      const decision = review.allowed ? 'allow' : review.denied ? 'deny' : 'no-opinion';
      const answer = result(decision, review.reason);
      this.reviews.remember(key, answer, review.allowed ? this.options.allowedTtl : this.options.deniedTtl);
      this.options.observe('answered');
      return answer;
    } catch (error) {
      this.options.observe('failed');
      return result('no-opinion', '', `the SubjectAccessReview failed: ${messageOf(error)}`);
    }
  }
}
