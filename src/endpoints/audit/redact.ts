import type { Status } from '../../apimachinery/meta/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { RequestInfo } from '../../request/request-info.js';

const REDACTED = '<redacted>';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

type Redactor = (object: JsonObject) => JsonObject;

function redactValues(value: JsonValue | undefined): JsonValue {
  return isObject(value) ? Object.fromEntries(Object.keys(value).map((key) => [key, REDACTED])) : REDACTED;
}

/** The members named, where they are, without their content. */
function without(object: JsonObject, members: readonly string[]): JsonObject {
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

function redactorFor({ apiGroup, resource, subresource }: RequestInfo): Redactor | undefined {
  if (apiGroup === '' && resource === 'secrets') return secret;
  if (apiGroup === '' && resource === 'serviceaccounts' && subresource === 'token') return within('status', ['token']);
  if (apiGroup === 'authentication.k8s.io' && resource === 'tokenreviews') return within('spec', ['token']);
  return undefined;
}

/** What may stand in a log: without the content of secrets and without tokens. Does not change what it is given. */
export function redacted(info: RequestInfo, value: JsonValue): JsonValue {
  const redact = redactorFor(info);
  return redact === undefined ? value : apply(redact, value);
}

function apply(redact: Redactor, value: JsonValue): JsonValue {
  // The operations of a JSON patch: what they put where cannot be told apart safely.
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? without(item, ['value']) : item));
  if (!isObject(value)) return typeof value === 'string' ? REDACTED : value;
  const { items, rows } = value;
  if (Array.isArray(items)) return { ...value, items: items.map((item) => apply(redact, item)) };
  if (Array.isArray(rows)) return without(value, ['rows']);
  return redact(value);
}

/** The same of an error: where it quotes what was sent, the text of an object without its secrets would still hold them. */
export function redactedStatus(info: RequestInfo, status: Status): Status {
  if (redactorFor(info) === undefined || (status.code !== 400 && status.code !== 422)) return status;
  const { details } = status;
  const causes = details?.causes?.map((cause) => ({ ...cause, message: REDACTED }));
  return {
    ...status,
    message: REDACTED,
    ...(details !== undefined && { details: { ...details, ...(causes !== undefined && { causes }) } }),
  };
}

/** The same without metadata.managedFields, in lists and tables too. */
export function withoutManagedFields(value: JsonValue): JsonValue {
  if (!isObject(value)) return value;
  const { items, rows, metadata } = value;
  const out: JsonObject = { ...value };
  if (Array.isArray(items)) out['items'] = items.map(withoutManagedFields);
  if (Array.isArray(rows)) out['rows'] = rows.map(rowWithoutManagedFields);
  if (isObject(metadata)) {
    const { managedFields: _m, ...rest } = metadata;
    out['metadata'] = rest;
  }
  return out;
}

const rowWithoutManagedFields = (row: JsonValue): JsonValue =>
  isObject(row) && row['object'] !== undefined ? { ...row, object: withoutManagedFields(row['object']) } : row;
