import type { Cancellation } from '../../util/cancellation.js';
import type { FaultAnnotation } from './peer-certificates.js';

export interface WebhookResponse {
  readonly status: number;
  readonly body: string;
  /** The value of the header; '' if there is none. */
  readonly contentType: string;
  /** True if the response asks to retry later. */
  readonly retryAfter: boolean;
  /** The requested delay in seconds, if it is given as such. */
  readonly retryAfterSeconds?: number | undefined;
}

/** Sends a review to the remote service and returns its response, whatever the status. Throws ResponseError on failure. */
export interface WebhookTransport {
  post(body: string, timeoutMillis: number, cancellation: Cancellation): Promise<WebhookResponse>;
}

/** A call without a usable response. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
  /** True if another attempt may succeed. */
  readonly transient: boolean;
  readonly timeout: boolean;
  /** The status of the response; undefined if there was none. */
  readonly code: number | undefined;
  /** The annotation of the request's audit event about the service's certificate. */
  readonly annotation: FaultAnnotation | undefined;

  constructor(
    message: string,
    { transient = false, timeout = false, code, annotation }: Partial<Omit<ResponseError, keyof Error>> = {},
  ) {
    super(message);
    this.transient = transient;
    this.timeout = timeout;
    this.code = code;
    this.annotation = annotation;
  }
}
