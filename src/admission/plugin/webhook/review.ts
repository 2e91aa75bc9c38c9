import { answeredObject } from '../../../client/webhook/answer.js';
import type { WebhookResponse } from '../../../client/webhook/connection.js';
import { type JsonObject, stringifyJson } from '../../../apimachinery/json/json.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { admissionRequest } from '../../cel/request.js';
import type { AdmissionAttributes, VersionedResource } from '../../interfaces.js';
import { printedKind } from '../../type-meta.js';
import { readReviewResponse, type ReviewResponse } from './review-response.js';
import type { ReviewVersion } from './hooks.js';

const GROUP = 'admission.k8s.io';
const KIND = 'AdmissionReview';

/** The objects of a request in the version that a webhook wants. Their serialized form is cached, because several webhooks may need it. */
export class ReviewedObjects {
  private objectText: string | undefined;
  private oldText: string | undefined;

  constructor(
    private current: KubeObject | undefined,
    readonly oldObject: KubeObject | undefined,
  ) {}

  get object(): KubeObject | undefined {
    return this.current;
  }

  replace(object: KubeObject): void {
    this.current = object;
    this.objectText = undefined;
  }

  get texts(): { readonly object: string; readonly oldObject: string } {
    this.objectText ??= this.current === undefined ? 'null' : stringifyJson(this.current);
    this.oldText ??= this.oldObject === undefined ? 'null' : stringifyJson(this.oldObject);
    return { object: this.objectText, oldObject: this.oldText };
  }
}

/** Returns the body of an AdmissionReview. */
export function reviewBody(
  attributes: AdmissionAttributes,
  matched: VersionedResource,
  version: ReviewVersion,
  uid: string,
  objects: ReviewedObjects,
): string {
  const { object: _o, oldObject: _p, uid: _u, ...request } = admissionRequest(attributes, matched);
  const { object, oldObject } = objects.texts;
  const rest = stringifyJson(request).slice(1);
  return `{"kind":"${KIND}","apiVersion":"${GROUP}/${version}","request":{"uid":"${uid}","object":${object},"oldObject":${oldObject},${rest}}`;
}

/** Decodes the response of a webhook. Throws ResponseError or MalformedAnswer if it is not an AdmissionReview. */
export function decodeReview(response: WebhookResponse, version: ReviewVersion): JsonObject {
  return answeredObject(response, { group: GROUP, version, kind: KIND });
}

/** Validates the response of a review. Throws an Error with kube-apiserver's message. */
export function verifyReview(
  review: JsonObject,
  version: ReviewVersion,
  uid: string,
  mutating: boolean,
): ReviewResponse {
  const answer = readReviewResponse(review);
  if (answer === undefined) throw new Error('webhook response was absent');
  if (version === 'v1beta1') {
    // v1beta1 responses have never named the type of their patch, and it was never checked.
    return mutating ? { ...answer, patchType: answer.patch === '' ? undefined : 'JSONPatch' } : withoutPatch(answer);
  }
  if (answer.uid !== uid) throw new Error(`expected response.uid=${quote(uid)}, got ${quote(answer.uid)}`);
  const kind = printedKind(review);
  const expected = `${GROUP}/v1, Kind=${KIND}`;
  if (kind !== expected) throw new Error(`expected webhook response of ${expected}, got ${kind}`);
  if (!mutating) {
    if (answer.patch !== '') throw new Error('validating webhook may not return response.patch');
    if (answer.patchType !== undefined) throw new Error('validating webhook may not return response.patchType');
    return answer;
  }
  if (answer.patch !== '' && answer.patchType === undefined) {
    throw new Error('webhook returned response.patch but not response.patchType');
  }
  if (answer.patch === '' && answer.patchType !== undefined) {
    throw new Error('webhook returned response.patchType but not response.patch');
  }
  if (answer.patchType === '') throw new Error('webhook returned invalid response.patchType of ""');
  return answer;
}

const withoutPatch = (answer: ReviewResponse): ReviewResponse => ({ ...answer, patch: '', patchType: undefined });
