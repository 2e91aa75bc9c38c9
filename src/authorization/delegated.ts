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
  /** Milliseconds for which answers are kept. */
  readonly allowedTtl: number;
  readonly deniedTtl: number;
  /** Paths outside of resources that everybody may ask for; one that ends with `*` stands for all that begin with the rest. */
  readonly alwaysAllowPaths: readonly string[];
  /** Posts a SubjectAccessReview to the cluster; the status and body of its answer. Throws where there is none. */
  post(review: JsonObject): Promise<{ readonly status: number; readonly body: JsonObject }>;
  /** Called for each review sent, with whether it failed. */
  observe(failed: boolean): void;
}

/**
 * Asks the cluster's API server who may do what. Equal questions at the same time are one question. Where there is no answer
 * nothing is allowed.
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
      this.options.observe(false);
      return answer;
    } catch (error) {
      this.options.observe(true);
      return result('no-opinion', '', `the cluster could not be asked: ${messageOf(error)}`);
    }
  }
}
