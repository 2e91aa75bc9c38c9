import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';

export const REDACTED = '<redacted>';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Takes what must not stand in a log out of a copy. */
export type Redactor = (object: JsonObject) => JsonObject;

function redactValues(value: JsonValue | undefined): JsonValue {
  return isObject(value) ? Object.fromEntries(Object.keys(value).map((key) => [key, REDACTED])) : REDACTED;
}

/** The members named, where they are, without their content. */
export function without(object: JsonObject, members: readonly string[]): JsonObject {
  const out: JsonObject = { ...object };
  for (const member of members) if (out[member] !== undefined) out[member] = redactValues(out[member]);
  return out;
}

/** kubectl keeps the whole object in an annotation. */
function withoutLastApplied(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isObject(metadata) || !isObject(metadata['annotations'])) return object;
  return { ...object, metadata: { ...metadata, annotations: without(metadata['annotations'], [LAST_APPLIED]) } };
}

const PUBLIC_OF_SECRETS = ['apiVersion', 'kind', 'metadata', 'type', 'immutable'];

/** What does not belong into a Secret may be there because somebody put its content at the wrong place. */
const secret: Redactor = (object) =>
  withoutLastApplied(
    without(
      object,
      Object.keys(object).filter((member) => !PUBLIC_OF_SECRETS.includes(member)),
    ),
  );

const within =
  (member: string, fields: readonly string[]): Redactor =>
  (object) => {
    const inner = object[member];
    return isObject(inner) ? { ...object, [member]: without(inner, fields) } : object;
  };

/** By group, resource and subresource. */
const REDACTORS: ReadonlyMap<string, Redactor> = new Map([
  ['/secrets/', secret],
  ['/serviceaccounts/token', within('status', ['token'])],
  ['authentication.k8s.io/tokenreviews/', within('spec', ['token'])],
]);

/** Undefined: all of such an object may stand in a log. */
export const redactorFor = (group: string, resource: string, subresource: string): Redactor | undefined =>
  REDACTORS.get(`${group}/${resource}/${subresource}`);
