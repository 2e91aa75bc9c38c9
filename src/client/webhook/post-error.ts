import { isObject, type JsonValue, stringAt } from '../../apimachinery/json/json.js';
import { quote } from '../../apimachinery/meta/meta.js';
import { decodeAnswer } from './decode-answer.js';
import { ResponseError, type WebhookResponse } from './connection.js';

const TEXTS: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};
const MOST_SHOWN = 2048;
const LONGEST_STATUS = 1024 * 1024;
/** Reasons that may no longer apply to a later attempt. */
const TRANSIENT_REASONS: ReadonlySet<string> = new Set(['InternalError', 'Timeout', 'TooManyRequests']);
/** The other reasons that Kubernetes defines. If a Status has none of either set, its code decides. */
const FINAL_REASONS: ReadonlySet<string> = new Set([
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Invalid',
  'ServerTimeout',
  'StorageReadError',
  'BadRequest',
  'MethodNotAllowed',
  'NotAcceptable',
  'RequestEntityTooLarge',
  'UnsupportedMediaType',
  'Expired',
  'ServiceUnavailable',
]);

const isTransient = ({ reason, code }: FailureStatus): boolean =>
  TRANSIENT_REASONS.has(reason) || code === 429 || (!FINAL_REASONS.has(reason) && (code === 500 || code === 504));

/** Returns the error for an unsuccessful status, in the words of Kubernetes' client, or of the Status in the response. */
export function postError(response: WebhookResponse): ResponseError {
  const { status, retryAfter } = response;
  const failureStatus = failure(response);
  if (failureStatus !== undefined) {
    const { message, reason, code } = failureStatus;
    const transient = isTransient(failureStatus) || retryAfter;
    return new ResponseError(message, { transient, timeout: reason === 'Timeout', code });
  }
  const transient = status === 429 || (status >= 500 && status !== 503) || retryAfter;
  return new ResponseError(TEXTS[status] ?? ownText(response), { transient, timeout: status === 504, code: status });
}

interface FailureStatus {
  readonly message: string;
  readonly reason: string;
  readonly code: number;
}

/** Returns the Status of a failure, if the body is one. */
function failure({ body }: WebhookResponse): FailureStatus | undefined {
  const value = valueOf(body);
  if (value === undefined || !isObject(value)) return undefined;
  if (value['kind'] !== 'Status' || value['apiVersion'] !== 'v1' || value['status'] !== 'Failure') return undefined;
  const { code } = value;
  return {
    message: stringAt(value, 'message') ?? '',
    reason: stringAt(value, 'reason') ?? '',
    code: typeof code === 'number' ? code : 0,
  };
}

function valueOf(body: string): JsonValue | undefined {
  // A long page is not a Status, and parsing it as YAML takes a while.
  if (body.length > LONGEST_STATUS) return undefined;
  try {
    return decodeAnswer(body);
  } catch {
    return undefined;
  }
}

function ownText({ status, body, contentType }: WebhookResponse): string {
  const shown = isText(contentType) ? body.slice(0, MOST_SHOWN).trim() : 'unknown';
  if (status === 403 || status === 415) return shown;
  if (status === 406) {
    return shown === '' || shown === 'unknown'
      ? 'the server was unable to respond with a content type that the client supports'
      : shown;
  }
  if (status < 500)
    return 'the server responded with the status code ' + `${status} but did not return more information`;
  return `an error on the server (${quote(shown)}) has prevented the request from succeeding`;
}

const isText = (contentType: string): boolean => contentType === '' || /^\s*text\//i.test(contentType);
