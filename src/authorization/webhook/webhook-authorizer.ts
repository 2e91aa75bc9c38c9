import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import type { AuthorizationMetrics, WebhookOutcome } from '../authorizer/instrumentation.js';
import type {
  AuthorizationResult,
  Authorizer,
  AuthorizerAttributes,
  RuleResolver,
  RulesResult,
} from '../authorizer/interfaces.js';
import { NO_OPINION, result } from '../authorizer/results.js';
import { ResponseError, type WebhookTransport } from '../../client/webhook/connection.js';
import { withBackoff } from '../../client/webhook/retries.js';
import type { MatchConditions } from './match-conditions.js';
import { readReview, reviewBody, reviewSpec, type ReviewStatus, type ReviewVersion } from './review.js';
import { CachedCalls } from '../../scheduling/cached-calls.js';
import { boundedKey } from '../../util/caches/ttl-cache.js';
import { messageOf } from '../../util/error-message.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The maximum number of bytes of all cached decisions. */
const CACHE_BYTES = 16 << 20;
/** The maximum number of concurrent reviews, of which one user may have three quarters. */
const MAX_REVIEWS = 200;
/** How long a check waits for the reviews of others, in milliseconds. */
const WAIT_MILLIS = 10_000;
/** A decision is not cached if the parts of the request that the client controls have this many bytes or more. */
const MAX_CACHED_LENGTH = 10_000;

export interface WebhookOptions {
  readonly name: string;
  readonly version: ReviewVersion;
  /** How long decisions are cached, in milliseconds; 0: not at all. */
  readonly authorizedTtl: number;
  readonly unauthorizedTtl: number;
  readonly timeout: number;
  /** The decision after a failed call, a malformed response or a failed match condition. */
  readonly onError: 'no-opinion' | 'deny';
  readonly matchConditions: MatchConditions;
}

export interface WebhookDependencies {
  readonly transport: WebhookTransport;
  readonly clock: Clock;
  readonly metrics: AuthorizationMetrics;
  /** Returns a number in [0, 1) for the jitter of retries. */
  readonly random: () => number;
}

const RULES: RulesResult = {
  resourceRules: [],
  nonResourceRules: [],
  incomplete: true,
  error: 'webhook authorizer does not support user rule resolution',
};

/**
 * Authorizes with SubjectAccessReviews of a remote service. Cached decisions and exclusions by match condition are synchronous.
 * Concurrent checks with the same attributes share one review. Reviews are bounded in number, and users take turns.
 */
export class WebhookAuthorizer implements Authorizer, RuleResolver {
  /** Flows are users. */
  private readonly reviews: CachedCalls<AuthorizationResult>;

  constructor(
    private readonly options: WebhookOptions,
    private readonly dependencies: WebhookDependencies,
  ) {
    this.reviews = new CachedCalls({
      name: 'webhook_authorization',
      clock: dependencies.clock,
      maxBytes: CACHE_BYTES,
      weigh: ({ reason }) => 2 * reason.length,
      max: MAX_REVIEWS,
      waitMillis: WAIT_MILLIS,
    });
  }

  rulesFor(): RulesResult {
    return RULES;
  }

  authorize(attributes: AuthorizerAttributes, signal: AbortSignal): MaybePromise<AuthorizationResult> {
    const match = this.options.matchConditions.evaluate(attributes);
    if (match.error !== undefined) return result(this.options.onError, '', match.error);
    if (!match.matches) return NO_OPINION;
    const spec = reviewSpec(attributes);
    const key = boundedKey(stringifyJson(spec));
    const known = this.reviews.known(key);
    if (known !== undefined) return known;
    const shared = this.reviews.shared(key, (canceled) => this.decideRemotely(key, spec, attributes, canceled));
    return shared.join(signal, () => result(this.options.onError, '', 'the request ended before the webhook answered'));
  }

  /** Never rejects. */
  private async decideRemotely(
    key: string,
    spec: JsonObject,
    attributes: AuthorizerAttributes,
    signal: AbortSignal,
  ): Promise<AuthorizationResult> {
    try {
      const body = reviewBody(spec, this.options.version);
      const status = await this.ask(body, attributes.user.name, signal);
      const { authorizedTtl, unauthorizedTtl } = this.options;
      const decision = decide(status);
      if (mayCache(attributes)) this.reviews.remember(key, decision, status.allowed ? authorizedTtl : unauthorizedTtl);
      return decision;
    } catch (error) {
      return result(this.options.onError, '', messageOf(error));
    }
  }

  private async ask(body: string, user: string, signal: AbortSignal): Promise<ReviewStatus> {
    const { name, onError } = this.options;
    try {
      return await withBackoff(() => this.reviews.run(user, () => this.call(body, signal)), this.dependencies, signal);
    } catch (error) {
      if (onError === 'no-opinion' && !signal.aborted)
        this.dependencies.metrics.webhookFailOpen(name, outcomeOf(error, signal));
      throw error;
    }
  }

  private async call(body: string, signal: AbortSignal): Promise<ReviewStatus> {
    const { clock, metrics, transport } = this.dependencies;
    const { name, timeout, version } = this.options;
    const began = clock.monotonic();
    const ended = (outcome: WebhookOutcome): void =>
      metrics.webhookEvaluation(name, outcome, (clock.monotonic() - began) / 1000);
    try {
      const status = readReview(await transport.post(body, timeout, signal), version);
      ended('success');
      return status;
    } catch (error) {
      ended(outcomeOf(error, signal));
      throw error;
    }
  }
}

function outcomeOf(error: unknown, signal: AbortSignal): WebhookOutcome {
  if (signal.aborted) return 'canceled';
  return error instanceof ResponseError && error.timeout ? 'timeout' : 'error';
}

function decide({ allowed, denied, reason }: ReviewStatus): AuthorizationResult {
  if (denied) {
    return allowed
      ? result('deny', reason, 'webhook subject access review returned both allow and deny response')
      : result('deny', reason);
  }
  return result(allowed ? 'allow' : 'no-opinion', reason);
}

function mayCache(attributes: AuthorizerAttributes): boolean {
  const { namespace, verb, apiGroup, apiVersion, resource, subresource, name, path } = attributes;
  let length = 0;
  for (const part of [namespace, verb, apiGroup, apiVersion, resource, subresource, name, path]) {
    length += Buffer.byteLength(part);
  }
  return length < MAX_CACHED_LENGTH;
}
