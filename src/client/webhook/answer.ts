import { interpretTypeMeta } from '../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { kindNotRegistered, parseGroupVersion } from '../../apimachinery/meta/meta.js';
import { ResponseError, type WebhookResponse } from './connection.js';
import { decodeAnswer, looksLikeJson } from './decode-answer.js';
import { postError } from './post-error.js';
import { messageOf } from '../../util/error-message.js';

/** A response of an unexpected kind or format. The message contains none of its values. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}

/** The expected kind of object. */
export interface AnswerKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Other kinds that Kubernetes' decoder knows but cannot convert to the expected one. */
const RELATED: ReadonlySet<string> = new Set([
  'v1 Status',
  'admission.k8s.io/v1 AdmissionReview',
  'admission.k8s.io/v1beta1 AdmissionReview',
  'authentication.k8s.io/v1 TokenReview',
  'authentication.k8s.io/v1 SelfSubjectReview',
  'authentication.k8s.io/v1beta1 TokenReview',
  'authentication.k8s.io/v1beta1 SelfSubjectReview',
  ...['v1', 'v1beta1'].flatMap((version) =>
    ['SubjectAccessReview', 'SelfSubjectAccessReview', 'LocalSubjectAccessReview', 'SelfSubjectRulesReview'].map(
      (kind) => `authorization.k8s.io/${version} ${kind}`,
    ),
  ),
]);

/**
 * Returns the object in a response; a missing apiVersion or kind is assumed to be the expected one. Throws a ResponseError if the status is
 * not a success, and a MalformedAnswer otherwise.
 */
export function answeredObject(response: WebhookResponse, asked: AnswerKind): JsonObject {
  const { status, body, contentType } = response;
  const fault = contentType === '' ? undefined : mediaTypeFault(contentType);
  // An internal error of the client, which is worth another attempt, like those of services.
  if (fault !== undefined) throw new ResponseError(`Internal error occurred: mime: ${fault}`, { transient: true });
  if (status < 200 || status > 206) throw postError(response);
  if (body === '') {
    const type = contentType === '' ? 'application/json' : contentType;
    throw new MalformedAnswer(`0-length response with status code: ${status} and content type: ${type}`);
  }
  return objectOfKind(valueOf(body), asked);
}

/** Returns `value` as an object of the expected kind; a missing apiVersion or kind is assumed to be the expected one. Throws a MalformedAnswer. */
export function objectOfKind(value: JsonValue, asked: AnswerKind): JsonObject {
  const { apiVersion, kind } = asMalformed(() => interpretTypeMeta(value));
  const wanted = `${asked.group}/${asked.version}`;
  if (apiVersion !== '' && parseGroupVersion(apiVersion) === undefined) {
    throw new MalformedAnswer(`unexpected GroupVersion string: ${apiVersion}`);
  }
  const given = apiVersion === '' ? wanted : apiVersion;
  const name = kind === '' ? asked.kind : kind;
  if (given !== wanted || name !== asked.kind) {
    throw new MalformedAnswer(
      RELATED.has(`${given} ${name}`)
        ? `converting (${given.slice(given.indexOf('/') + 1)}.${name}) to (${asked.version}.${asked.kind}): unknown conversion`
        : kindNotRegistered(given, name),
    );
  }
  return isObject(value) ? value : {};
}

const MEDIA_TYPE = /^([^\s()<>@,;:\\"/[\]?=]*)(\/([^\s()<>@,;:\\"/[\]?=]*)(.*))?/s;

/** Returns why Go does not accept a text as a media type. */
function mediaTypeFault(contentType: string): string | undefined {
  const [base = ''] = contentType.split(';');
  const [, type = '', slash, subtype = '', rest = ''] = MEDIA_TYPE.exec(base.trim()) ?? [];
  if (type === '') return 'no media type';
  if (slash === undefined) return base.trim() === type ? undefined : 'expected slash after first token';
  if (subtype === '') return 'expected token after slash';
  return rest === '' ? undefined : 'unexpected content after media subtype';
}

/** Turns any error into a MalformedAnswer. */
function asMalformed<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new MalformedAnswer(messageOf(error));
  }
}

function valueOf(body: string): JsonValue {
  try {
    return decodeAnswer(body);
  } catch (error) {
    const where = looksLikeJson(body) ? "couldn't get version/kind; json parse error: " : '';
    throw new MalformedAnswer(`${where}${messageOf(error)}`);
  }
}
