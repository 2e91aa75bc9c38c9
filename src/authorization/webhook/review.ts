import { parseJson } from '../../apimachinery/decode-json.js';
import {
  isObject,
  objectAt,
  stringAt,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../apimachinery/json.js';
import type { AuthorizerAttributes, SelectorRequirement } from '../authorizer/interfaces.js';

export type ReviewVersion = 'v1' | 'v1beta1';

export interface ReviewStatus {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

/** An answer that is no SubjectAccessReview of the version asked for. */
export class MalformedReview extends Error {
  override readonly name = 'MalformedReview';
}

const showSelector = (requirements: readonly SelectorRequirement[]): JsonObject => ({
  requirements: requirements.map(({ key, operator, values }) => ({
    key,
    operator,
    ...(values.length > 0 && { values: [...values] }),
  })),
});

/** The spec of the review, v1; empty fields are left out. */
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

/** What match conditions see as `request`: every field of the user and every text is there, also where it is empty. */
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

/** The request's body. v1beta1 calls the groups `group`. */
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

/** Reads an answer; only its status counts. */
export function readReview(body: string, version: ReviewVersion): ReviewStatus {
  let value: JsonValue;
  try {
    value = parseJson(body);
  } catch (error) {
    throw new MalformedReview(error instanceof Error ? error.message : String(error));
  }
  if (!isObject(value)) throw new MalformedReview('the answer is not an object');
  const apiVersion = stringAt(value, 'apiVersion') ?? '';
  const kind = stringAt(value, 'kind') ?? '';
  if (kind !== 'SubjectAccessReview' || apiVersion !== `authorization.k8s.io/${version}`) {
    throw new MalformedReview(
      `expected a SubjectAccessReview of authorization.k8s.io/${version}, got kind "${kind}" of "${apiVersion}"`,
    );
  }
  const status = objectAt(value, 'status') ?? {};
  return {
    allowed: flag(status['allowed'], 'allowed'),
    denied: flag(status['denied'], 'denied'),
    reason: stringAt(status, 'reason') ?? '',
  };
}

function flag(value: JsonValue | undefined, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw new MalformedReview(`status.${name} is not a boolean`);
  return value;
}
