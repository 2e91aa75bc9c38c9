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
import { type SpanAttributes, spanned } from '../../../util/tracing.js';
import type { AdmissionAttributes, VersionedResource } from '../../interfaces.js';
import type { NamespaceSource } from '../../sources.js';
import type { AnsweredReview } from './answer.js';
import { CallError, dryRunUnsupported, Rejection, rejection } from './errors.js';
import type { Hook, HookType } from './hooks.js';
import type { WebhookMetrics } from './metrics.js';
import { decodeReview, reviewBody, type ReviewedObjects, verifyReview } from './review.js';

/** Posts reviews to webhooks by their client configurations. */
export interface WebhookPoster {
  post(config: JsonObject, body: string, timeoutSeconds: number, cancellation: Cancellation): Promise<WebhookResponse>;
}

/** What both plugins work with. */
export interface WebhookDependencies {
  readonly poster: WebhookPoster;
  readonly namespaces: NamespaceSource;
  /** Asked by match conditions. */
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  /** Told of each webhook that failed and was passed over. */
  readonly onFailure: (webhook: string, error: CallError) => void;
}

const UNAVAILABLE = 503;
const BAD_REQUEST = 400;
const INTERNAL = 500;
const NO_SIDE_EFFECTS: readonly (string | undefined)[] = ['None', 'NoneOnDryRun'];

/** What a call is about. */
export interface Invocation {
  readonly hook: Hook;
  readonly type: HookType;
  readonly attributes: AdmissionAttributes;
  readonly matched: VersionedResource;
  readonly objects: ReviewedObjects;
}

/**
 * Asks a webhook, and notes its warnings and annotations. Throws a CallError where there is no usable answer, a Rejection where it says
 * no, or an ApiError where it may not be asked.
 */
export async function callHook(invocation: Invocation, dependencies: WebhookDependencies): Promise<AnsweredReview> {
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
  const review = await spanned(SPANS[type], spanAttributes(invocation, uid), () =>
    ask(invocation, dependencies, async (poster) =>
      decodeReview(
        await poster.post(hook.clientConfig, body, secondsFor(invocation, clock), attributes.cancellation),
        version,
      ),
    ),
  );
  let answer: AnsweredReview;
  try {
    answer = verifyReview(review, version, uid, type === 'admit');
  } catch (error) {
    // What does not fit the types is found when the answer is decoded.
    const step = error instanceof MalformedAnswer ? 'failed to call webhook' : 'received invalid webhook response';
    throw new CallError(hook.name, `${step}: ${messageOf(error)}`, UNAVAILABLE);
  }
  noteAnnotations(hook.name, answer.auditAnnotations, attributes);
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

/** What the webhook is told that it has: the rest of the request's time, if that is less than its own. */
function secondsFor({ hook, attributes: { deadline } }: Invocation, clock: Clock): number {
  if (deadline === undefined) return hook.timeoutSeconds;
  const left = Math.ceil((deadline - clock.monotonic()) / 1000);
  return Math.max(1, Math.min(hook.timeoutSeconds, left));
}

function refuseDryRun(hook: Hook): Error {
  if (hook.sideEffects !== undefined) return dryRunUnsupported(hook.name);
  return new CallError(hook.name, 'Webhook SideEffects is nil', BAD_REQUEST);
}

async function ask<T>(
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
    attributes.waited?.(layer, clock.monotonic() - began);
  }
}

/** Keys that are not qualified names with a prefix are left out. */
function noteAnnotations(
  webhook: string,
  annotations: Readonly<Record<string, string>>,
  attributes: AdmissionAttributes,
): void {
  for (const [name, value] of Object.entries(annotations)) {
    const key = `${webhook}/${name}`;
    if (key.split('/').length === 2 && isQualifiedName(key).length === 0) attributes.annotate(key, value);
  }
}

/** Counts a call and how it ended. */
export function observeCall(
  { hook, type, attributes }: Invocation,
  metrics: WebhookMetrics,
  millis: number,
  error: unknown,
): void {
  const { operation } = attributes;
  const observe = (rejected: boolean, code: number): void => {
    metrics.called(hook.name, type, operation, rejected, code, millis);
  };
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

/** The error that the request is refused with. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof CallError) return error.refusal();
  return error instanceof Rejection ? error.status : error;
}

export const requestOver = (): ApiError =>
  new ApiError(504, 'Timeout', 'Timeout: request did not complete within requested timeout', {});
