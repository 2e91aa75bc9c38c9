import type { Cancellation } from '../../util/cancellation.js';
import type { FaultAnnotation } from './peer-certificates.js';

export interface WebhookResponse {
  readonly status: number;
  readonly body: string;
  /** As the header has it; '' where there is none. */
  readonly contentType: string;
  /** Whether the answer asks to come back later. */
  readonly retryAfter: boolean;
  /** In how many seconds, where that is what it says. */
  readonly retryAfterSeconds?: number | undefined;
}

/** Sends a review to the remote service and gives back its answer, whatever the status. Failures throw ResponseError. */
export interface WebhookTransport {
  post(body: string, timeoutMillis: number, cancellation: Cancellation): Promise<WebhookResponse>;
}

/** A call that gave no usable answer. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
  constructor(
    message: string,
    /** Worth another attempt. */
    readonly transient: boolean,
    readonly timeout = false,
    /** The status that was answered; undefined: there was no answer. */
    readonly code?: number,
    /** What the audit event of the request says of the service's certificate. */
    readonly annotation?: FaultAnnotation,
  ) {
    super(message);
  }
}
