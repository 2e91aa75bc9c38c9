import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';

export const REDACTED = '<redacted>';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Returns a copy of an object without what must not appear in a log. */
export type Redactor = (object: JsonObject) => JsonObject;

function redactValues(value: JsonValue | undefined): JsonValue {
  return isObject(value) ? Object.fromEntries(Object.keys(value).map((key) => [key, REDACTED])) : REDACTED;
}

/** Returns the object with the values of the named members redacted. */
export function without(object: JsonObject, members: readonly string[]): JsonObject {
  const out: JsonObject = { ...object };
  for (const member of members) if (out[member] !== undefined) out[member] = redactValues(out[member]);
  return out;
}

/** Redacts the annotation in which kubectl keeps the whole object. */
function withoutLastApplied(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isObject(metadata) || !isObject(metadata['annotations'])) return object;
  return { ...object, metadata: { ...metadata, annotations: without(metadata['annotations'], [LAST_APPLIED]) } };
}

const PUBLIC_OF_SECRETS = ['apiVersion', 'kind', 'metadata', 'type', 'immutable'];

/** Redacts unknown members as well: users may have put content in the wrong place. */
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

/** The redactors by group, resource and subresource. */
const REDACTORS: ReadonlyMap<string, Redactor> = new Map([
  ['/secrets/', secret],
  ['/serviceaccounts/token', within('status', ['token'])],
  ['authentication.k8s.io/tokenreviews/', within('spec', ['token'])],
]);

/** Returns the redactor of a type, or undefined if its objects may be logged in full. */
export const redactorFor = (group: string, resource: string, subresource: string): Redactor | undefined =>
  REDACTORS.get(`${group}/${resource}/${subresource}`);
