import { randomUUID } from 'node:crypto';
import { MalformedAnswer } from '../../../client/webhook/answer.js';
import { ResponseError, type WebhookResponse } from '../../../client/webhook/connection.js';
import { ApiError } from '../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { isQualifiedName } from '../../../apimachinery/validation/names.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import type { Cancellation } from '../../../util/cancellation.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { type SpanAttributes, withSpan } from '../../../util/tracing.js';
import type { MatchConditionsMetrics } from '../../cel/match-conditions.js';
import type { AdmissionAttributes, VersionedResource } from '../../interfaces.js';
import type { NamespaceSource } from '../../sources.js';
import type { ReviewResponse } from './review-response.js';
import { CallError, dryRunUnsupported, Rejection, rejection } from './errors.js';
import type { Hook, HookType } from './hooks.js';
import type { WebhookMetrics } from './metrics.js';
import { decodeReview, reviewBody, type ReviewedObjects, verifyReview } from './review.js';

/** Posts reviews to webhooks according to their client configurations. */
export interface WebhookPoster {
  post(config: JsonObject, body: string, timeoutSeconds: number, cancellation: Cancellation): Promise<WebhookResponse>;
}

/** The dependencies of both webhook plugins. */
export interface WebhookDependencies {
  readonly poster: WebhookPoster;
  readonly namespaces: NamespaceSource;
  /** Used by match conditions. */
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  readonly conditions: MatchConditionsMetrics;
  /** Called for each webhook that failed and was skipped. */
  readonly onFailure: (webhook: string, error: CallError) => void;
}

const UNAVAILABLE = 503;
const BAD_REQUEST = 400;
const INTERNAL = 500;
const NO_SIDE_EFFECTS: readonly (string | undefined)[] = ['None', 'NoneOnDryRun'];

/** A call of one webhook for one request. */
export interface Invocation {
  readonly hook: Hook;
  readonly type: HookType;
  readonly attributes: AdmissionAttributes;
  readonly matched: VersionedResource;
  readonly objects: ReviewedObjects;
}

/**
 * Calls a webhook, and records its warnings and audit annotations. Throws a CallError if there is no usable response, a
 * Rejection if the webhook denies the request, or an ApiError if the webhook must not be called.
 */
export async function callHook(invocation: Invocation, dependencies: WebhookDependencies): Promise<ReviewResponse> {
  const { hook, type, attributes, matched, objects } = invocation;
  if (attributes.dryRun && !NO_SIDE_EFFECTS.includes(hook.sideEffects)) throw refuseDryRun(hook);
  const version = hook.reviewVersion;
  if (version === undefined) {
    const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
    throw new CallError(hook.name, `could not create admission objects: ${why}`, BAD_REQUEST);
  }
  const uid = randomUUID();
  const { clock } = dependencies;
  const body = reviewBody(attributes, matched, version, uid, objects);
  const review = await withSpan(SPANS[type], spanAttributes(invocation, uid), () =>
    postReview(invocation, dependencies, async (poster) =>
      decodeReview(
        await poster.post(hook.clientConfig, body, secondsFor(invocation, clock), attributes.cancellation),
        version,
      ),
    ),
  );
  let answer: ReviewResponse;
  try {
    answer = verifyReview(review, version, uid, type === 'admit');
  } catch (error) {
    // Values of the wrong type fail in Go's decoder, that is while the webhook is called.
    const step = error instanceof MalformedAnswer ? 'failed to call webhook' : 'received invalid webhook response';
    throw new CallError(hook.name, `${step}: ${messageOf(error)}`, UNAVAILABLE);
  }
  addAuditAnnotations(hook.name, answer.auditAnnotations, attributes);
  for (const warning of answer.warnings) attributes.warn(warning);
  if (!answer.allowed) throw rejection(hook.name, answer.status);
  return answer;
}

const SPANS: Readonly<Record<HookType, string>> = {
  admit: 'Call mutating webhook',
  validating: 'Call validating webhook',
};

function spanAttributes({ hook, attributes }: Invocation, uid: string): SpanAttributes {
  const { resource, subresource, operation } = attributes;
  return {
    configuration: hook.configuration,
    webhook: hook.name,
    resource: `${resource.group}/${resource.version}, Resource=${resource.resource}`,
    subresource,
    operation,
    UID: uid,
  };
}

/** Returns the timeout of the call in seconds: the webhook's own, or the remaining time of the request if that is shorter. */
function secondsFor({ hook, attributes: { deadline } }: Invocation, clock: Clock): number {
  if (deadline === undefined) return hook.timeoutSeconds;
  const left = Math.ceil((deadline - clock.monotonic()) / 1000);
  return Math.max(1, Math.min(hook.timeoutSeconds, left));
}

function refuseDryRun(hook: Hook): Error {
  if (hook.sideEffects !== undefined) return dryRunUnsupported(hook.name);
  return new CallError(hook.name, 'Webhook SideEffects is nil', BAD_REQUEST);
}

async function postReview<T>(
  { hook, type, attributes }: Invocation,
  { poster, clock }: WebhookDependencies,
  post: (poster: WebhookPoster) => Promise<T>,
): Promise<T> {
  const began = clock.monotonic();
  try {
    return await post(poster);
  } catch (error) {
    if (error instanceof ResponseError && error.annotation !== undefined) attributes.annotate(...error.annotation);
    const answered = error instanceof ResponseError || error instanceof MalformedAnswer;
    const why = `${answered ? 'failed to call webhook' : 'could not get REST client'}: ${messageOf(error)}`;
    const code = error instanceof ResponseError ? (error.code ?? UNAVAILABLE) : answered ? UNAVAILABLE : INTERNAL;
    throw new CallError(hook.name, why, code, attributes.cancellation.aborted);
  } finally {
    const layer = type === 'admit' ? 'mutating-webhook' : 'validating-webhook';
    attributes.recordWebhookDuration?.(layer, clock.monotonic() - began);
  }
}

/** Adds audit annotations. Keys that are not qualified names with a prefix are skipped. */
function addAuditAnnotations(
  webhook: string,
  annotations: Readonly<Record<string, string>>,
  attributes: AdmissionAttributes,
): void {
  for (const [name, value] of Object.entries(annotations)) {
    const key = `${webhook}/${name}`;
    if (key.split('/').length === 2 && isQualifiedName(key).length === 0) attributes.annotate(key, value);
  }
}

/** Makes a call and records its outcome. Returns its result, or the error with which it failed. */
export async function observed<T>(
  invocation: Invocation,
  { clock, metrics }: WebhookDependencies,
  call: () => Promise<T>,
): Promise<{ readonly result?: T; readonly failure?: unknown }> {
  const began = clock.monotonic();
  const observe = (failure: unknown): void => observeCall(invocation, metrics, clock.monotonic() - began, failure);
  try {
    const result = await call();
    observe(undefined);
    return { result };
  } catch (failure) {
    observe(failure);
    return { failure };
  }
}

/**
 * Skips a webhook that failed, if its failure policy allows that; the annotation then has its name. Otherwise returns the error to refuse
 * the request with.
 */
export function failOpen(
  { hook, type, attributes }: Invocation,
  { metrics, onFailure }: WebhookDependencies,
  failure: unknown,
  annotation: string,
): unknown {
  if (!(failure instanceof CallError)) return failure instanceof Rejection ? failure.status : failure;
  if (!hook.ignoresFailures) return failure.refusal();
  if (!failure.cancelled) {
    metrics.failedOpen(hook.name, type);
    attributes.annotate(annotation, hook.name);
    onFailure(hook.name, failure);
  }
  return undefined;
}

function observeCall(
  { hook, type, attributes }: Invocation,
  metrics: WebhookMetrics,
  millis: number,
  error: unknown,
): void {
  const { operation } = attributes;
  const observe = (rejected: boolean, code: number): void =>
    metrics.called(hook.name, type, operation, rejected, code, millis);
  if (error === undefined) observe(false, 200);
  else if (error instanceof CallError) {
    const rejected = !hook.ignoresFailures;
    if (rejected && !error.cancelled) {
      metrics.rejected(hook.name, type, operation, 'calling_webhook_error', error.code);
    }
    observe(rejected, error.code);
  } else if (error instanceof Rejection) {
    metrics.rejected(hook.name, type, operation, 'no_error', error.status.code);
    observe(true, error.status.code);
  } else {
    metrics.rejected(hook.name, type, operation, 'apiserver_internal_error', 0);
    observe(true, 0);
  }
}

export const requestTimeout = (): ApiError =>
  new ApiError(504, 'Timeout', 'Timeout: request did not complete within requested timeout', {});
