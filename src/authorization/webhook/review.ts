import { boolField, objectField, stringField } from '../../apimachinery/json/go-fields.js';
import { stringifyJson, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { type AnswerKind, answeredObject, objectOfKind } from '../../client/webhook/answer.js';
import type { WebhookResponse } from '../../client/webhook/connection.js';
import type { AuthorizerAttributes, SelectorRequirement } from '../authorizer/interfaces.js';

export type ReviewVersion = 'v1' | 'v1beta1';

export interface ReviewStatus {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

const showSelector = (requirements: readonly SelectorRequirement[]): JsonObject => ({
  requirements: requirements.map(({ key, operator, values }) => ({
    key,
    operator,
    ...(values.length > 0 && { values: [...values] }),
  })),
});

/** Returns the spec of the v1 review without empty fields. */
export function reviewSpec(attributes: AuthorizerAttributes): JsonObject {
  const { user } = attributes;
  const extra = Object.entries(user.extra).map(([key, values]): [string, JsonValue] => [key, [...values]]);
  return {
    ...(attributes.resourceRequest
      ? { resourceAttributes: resourceAttributes(attributes) }
      : { nonResourceAttributes: compact({ path: attributes.path, verb: attributes.verb }) }),
    ...compact({ user: user.name }),
    ...(user.groups.length > 0 && { groups: [...user.groups] }),
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
    ...compact({ uid: user.uid }),
  };
}

function resourceAttributes(attributes: AuthorizerAttributes): JsonObject {
  const { namespace, verb, apiGroup, apiVersion, resource, subresource, name, fieldSelector, labelSelector } =
    attributes;
  return {
    ...compact({ namespace, verb, group: apiGroup, version: apiVersion, resource, subresource, name }),
    ...(fieldSelector !== undefined && fieldSelector.length > 0 && { fieldSelector: showSelector(fieldSelector) }),
    ...(labelSelector !== undefined && labelSelector.length > 0 && { labelSelector: showSelector(labelSelector) }),
  };
}

function compact(fields: Readonly<Record<string, string>>): JsonObject {
  const out: JsonObject = {};
  for (const key in fields) if (fields[key] !== '') out[key] = fields[key];
  return out;
}

/** Returns `request` for match conditions. Unlike in the review, the user's fields and all strings are present even if empty. */
export function matchRequest(attributes: AuthorizerAttributes): JsonObject {
  const { user, resourceRequest } = attributes;
  const extra = Object.entries(user.extra).map(([key, values]): [string, JsonValue] => [key, [...values]]);
  const request: JsonObject = {
    user: user.name,
    groups: [...user.groups],
    uid: user.uid,
    extra: Object.fromEntries(extra),
  };
  if (!resourceRequest) {
    request['nonResourceAttributes'] = { verb: attributes.verb, path: attributes.path };
    return request;
  }
  const { namespace, verb, apiGroup, apiVersion, resource, subresource, name, fieldSelector, labelSelector } =
    attributes;
  request['resourceAttributes'] = {
    namespace,
    verb,
    group: apiGroup,
    version: apiVersion,
    resource,
    subresource,
    name,
    ...(fieldSelector !== undefined && fieldSelector.length > 0 && { fieldSelector: showSelector(fieldSelector) }),
    ...(labelSelector !== undefined && labelSelector.length > 0 && { labelSelector: showSelector(labelSelector) }),
  };
  return request;
}

/** Returns the body of the request. In v1beta1 the groups are called `group`. */
export function reviewBody(spec: JsonObject, version: ReviewVersion): string {
  const { groups, ...rest } = spec;
  const sent = version === 'v1' || groups === undefined ? spec : { ...rest, group: groups };
  return stringifyJson({
    kind: 'SubjectAccessReview',
    apiVersion: `authorization.k8s.io/${version}`,
    metadata: {},
    spec: sent,
    status: { allowed: false },
  });
}

const askedFor = (version: ReviewVersion): AnswerKind => ({
  group: 'authorization.k8s.io',
  version,
  kind: 'SubjectAccessReview',
});

/** Decodes a response; only its status counts. Throws ResponseError, MalformedAnswer and FieldTypeError. */
export const readReview = (response: WebhookResponse, version: ReviewVersion): ReviewStatus =>
  statusOf(answeredObject(response, askedFor(version)), version);

/** Like `readReview`, for a response that has already been decoded. */
export const reviewStatus = (answer: JsonObject, version: ReviewVersion): ReviewStatus =>
  statusOf(objectOfKind(answer, askedFor(version)), version);

function statusOf(review: JsonObject, version: ReviewVersion): ReviewStatus {
  const type = 'SubjectAccessReviewStatus';
  const status = objectField(review['status'], 'SubjectAccessReview.status', `${version}.${type}`);
  stringField(status['evaluationError'], `${type}.status.evaluationError`);
  return {
    allowed: boolField(status['allowed'], `${type}.status.allowed`) ?? false,
    denied: boolField(status['denied'], `${type}.status.denied`) ?? false,
    reason: stringField(status['reason'], `${type}.status.reason`),
  };
}
