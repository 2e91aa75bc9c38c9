import { ApiError, newInternalError, type StatusDetails } from '../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { quote } from '../../../apimachinery/meta/meta.js';

/** A webhook that could not be called or returned no usable response. Its failure policy decides about the request. */
export class CallError extends Error {
  override readonly name = 'CallError';
  constructor(
    webhook: string,
    why: string,
    /** The code for metrics: the HTTP status of the response, or a substitute for it. */
    readonly code: number,
    /** True if the request itself has ended, which is not a failure of the webhook. */
    readonly cancelled = false,
  ) {
    super(`failed calling webhook ${quote(webhook)}: ${why}`);
  }

  /** Returns the 500 for a webhook with failurePolicy Fail. */
  refusal(): ApiError {
    return newInternalError(this.message);
  }
}

/** A webhook that denied the request. */
export class Rejection extends Error {
  override readonly name = 'Rejection';
  constructor(readonly status: ApiError) {
    super(status.message);
  }
}

/** The status with which a webhook denies a request (meta/v1 Status). */
export interface ReviewResponseStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details: StatusDetails | undefined;
  readonly metadata: JsonObject;
}

const BAD_REQUEST = 400;

export function rejection(webhook: string, answered: ReviewResponseStatus | undefined): Rejection {
  const { code = 0, reason = '', message = '', details, metadata } = answered ?? {};
  const deniedBy = `admission webhook ${quote(webhook)} denied the request`;
  const why = message || reason;
  const text = why === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`;
  return new Rejection(new ApiError(Math.max(code, BAD_REQUEST), reason, text, details, metadata));
}

export const dryRunUnsupported = (webhook: string): ApiError =>
  new ApiError(BAD_REQUEST, 'BadRequest', `admission webhook ${quote(webhook)} does not support dry run`);
