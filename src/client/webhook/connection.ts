import { quote } from '../../apimachinery/meta.js';

export interface WebhookResponse {
  readonly status: number;
  readonly body: string;
  /** Whether the answer asks to come back later. */
  readonly retryAfter: boolean;
}

/** Sends a review to the remote service and gives back its answer, whatever the status. Failures throw ResponseError. */
export interface WebhookTransport {
  post(body: string, timeoutMillis: number, signal: AbortSignal): Promise<WebhookResponse>;
}

/** A call that gave no usable answer. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
  constructor(
    message: string,
    /** Worth another attempt. */
    readonly transient: boolean,
    readonly timeout = false,
  ) {
    super(message);
  }
}

const TEXTS: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  403: '',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

/** The error for a status that is no success, in the words of Kubernetes' client. */
export function postError({ status, body, retryAfter }: WebhookResponse): ResponseError {
  const transient = status === 429 || status === 500 || status === 504 || retryAfter;
  const text = status === 403 ? `forbidden: ${body.trim()}` : (TEXTS[status] ?? serverText(status, body));
  return new ResponseError(text, transient, status === 504);
}

function serverText(status: number, body: string): string {
  if (status < 500)
    return 'the server responded with the status code ' + `${status} but did not return more information`;
  return `an error on the server (${quote(body.trim().slice(0, 2048))}) has prevented the request from succeeding`;
}
