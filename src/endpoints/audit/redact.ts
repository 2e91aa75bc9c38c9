import type { Status } from '../../apimachinery/meta/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { REDACTED, type Redactor, redactorFor, without } from '../../registry/builtin/shared/redaction.js';
import type { RequestInfo } from '../../request/request-info.js';

const redactorOf = ({ apiGroup, resource, subresource }: RequestInfo): Redactor | undefined =>
  redactorFor(apiGroup, resource, subresource);

/** Returns the value without secret data and tokens, for logs. The input is not modified. */
export function redacted(info: RequestInfo, value: JsonValue): JsonValue {
  const redact = redactorOf(info);
  return redact === undefined ? value : apply(redact, value);
}

function apply(redact: Redactor, value: JsonValue): JsonValue {
  // These are the operations of a JSON patch, in which secret values cannot be identified safely.
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? without(item, ['value']) : item));
  if (!isObject(value)) return typeof value === 'string' ? REDACTED : value;
  const { items, rows } = value;
  if (Array.isArray(items)) return { ...value, items: items.map((item) => apply(redact, item)) };
  if (Array.isArray(rows)) return without(value, ['rows']);
  return redact(value);
}

/** Redacts an error. If it quotes the request, the text would contain the secrets that the object no longer does. */
export function redactedStatus(info: RequestInfo, status: Status): Status {
  if (redactorOf(info) === undefined || (status.code !== 400 && status.code !== 422)) return status;
  const { details } = status;
  const causes = details?.causes?.map((cause) => ({ ...cause, message: REDACTED }));
  return {
    ...status,
    message: REDACTED,
    ...(details !== undefined && { details: { ...details, ...(causes !== undefined && { causes }) } }),
  };
}

/** Returns the value without metadata.managedFields, in lists and tables too. */
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
