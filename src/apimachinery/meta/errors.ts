import { aggregate, type FieldError } from './field-error.js';
import { formatGroupKind, formatGroupResource, type GroupKind, type GroupResource, quote } from './meta.js';
import type { JsonObject } from '../json/json.js';
import { messageOf } from '../../util/error-message.js';

export interface StatusCause extends JsonObject {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails extends JsonObject {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** meta/v1 Status, in the order of fields that kube-apiserver prints. */
export interface Status extends JsonObject {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: JsonObject;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code: number;
}

/** An error that reaches the client as a Status. Any other error that is thrown becomes a 500. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly details?: StatusDetails,
    /** The list metadata of the Status. */
    readonly metadata: JsonObject = {},
  ) {
    super(message);
  }

  get status(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.metadata,
      status: 'Failure',
      ...(this.message === '' ? {} : { message: this.message }),
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** Leaves out empty values, as `omitempty` does. */
function details(from: StatusDetails): StatusDetails {
  const out: StatusDetails = {};
  for (const key in from) {
    const value = from[key];
    if (value === undefined || value === '' || value === 0 || (Array.isArray(value) && value.length === 0)) continue;
    out[key] = value;
  }
  return out;
}

const resourceDetails = (gr: GroupResource, name: string, more: StatusDetails = {}): StatusDetails =>
  details({ name, group: gr.group, kind: gr.resource, ...more });

export const newNotFound = (gr: GroupResource, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${formatGroupResource(gr)} ${quote(name)} not found`, resourceDetails(gr, name));

export const newAlreadyExists = (gr: GroupResource, name: string): ApiError =>
  new ApiError(
    409,
    'AlreadyExists',
    `${formatGroupResource(gr)} ${quote(name)} already exists`,
    resourceDetails(gr, name),
  );

export const newGenerateNameConflict = (gr: GroupResource, name: string, retryAfterSeconds: number): ApiError =>
  new ApiError(
    409,
    'AlreadyExists',
    `${formatGroupResource(gr)} ${quote(name)} already exists, the server was not able to generate a unique name for the object`,
    resourceDetails(gr, name, { retryAfterSeconds }),
  );

export const newUnauthorized = (message = 'not authorized'): ApiError => new ApiError(401, 'Unauthorized', message);

/** Returns the error for a method that the path does not support, in the router's words. */
export const newMethodNotAllowed = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

/** Returns a Forbidden error. An empty resource yields `forbidden: …`. */
export function newForbidden(gr: GroupResource, name: string, why: string): ApiError {
  const subject = formatGroupResource(gr);
  const message =
    gr.group === '' && gr.resource === ''
      ? `forbidden: ${why}`
      : name === ''
        ? `${subject} is forbidden: ${why}`
        : `${subject} ${quote(name)} is forbidden: ${why}`;
  return new ApiError(403, 'Forbidden', message, resourceDetails(gr, name));
}

export const newConflict = (gr: GroupResource, name: string, why: string): ApiError =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${formatGroupResource(gr)} ${quote(name)}: ${why}`,
    resourceDetails(gr, name),
  );

export const newApplyConflict = (causes: StatusCause[], message: string): ApiError =>
  new ApiError(409, 'Conflict', message, details({ causes }));

export const newResourceExpired = (message: string): ApiError => new ApiError(410, 'Expired', message);

export function newInvalid(gk: GroupKind, name: string, errors: readonly FieldError[]): ApiError {
  const causes = errors.map((error) => ({ reason: error.type, message: error.body, field: error.field }));
  const subject = `${formatGroupKind(gk)} ${quote(name)} is invalid`;
  return new ApiError(
    422,
    'Invalid',
    errors.length === 0 ? subject : `${subject}: ${aggregate(errors)}`,
    details({ name, group: gk.group, kind: gk.kind, causes }),
  );
}

export const newBadRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export const newTooManyRequests = (message: string, retryAfterSeconds: number): ApiError =>
  new ApiError(429, 'TooManyRequests', message, details({ retryAfterSeconds }));

export const newMethodNotSupported = (gr: GroupResource, action: string): ApiError =>
  new ApiError(
    405,
    'MethodNotAllowed',
    `${action} is not supported on resources of kind ${quote(formatGroupResource(gr))}`,
    resourceDetails(gr, ''),
  );

export const newInternalError = (why: string): ApiError =>
  new ApiError(500, 'InternalError', `Internal error occurred: ${why}`, { causes: [{ message: why }] });

/** The internal error for a mutation that gave an object fields that its type does not have. */
export class UnknownFieldsError extends ApiError {
  constructor(errors: readonly string[]) {
    const { code, reason, message, details } = newInternalError(`strict decoding error: ${errors.join(', ')}`);
    super(code, reason, message, details);
  }
}

export const newRequestEntityTooLarge = (message: string): ApiError =>
  new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`);

/** Returns the 406 for a client that accepts none of the available representations. `accepted` is in the server's order. */
export const newNotAcceptable = (accepted: readonly string[]): ApiError =>
  new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);

export const newUnsupportedMediaType = (accepted: readonly string[]): ApiError =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

/** Returns the error for an unknown path while not all paths are installed: clients must not conclude that it is gone. */
export const newPathsNotInstalled = (): ApiError =>
  new ApiError(
    503,
    'ServiceUnavailable',
    'the request has been made before all known HTTP paths have been installed, please try again',
    { retryAfterSeconds: 5 },
  );

/** Returns the error for a path that exists in no API. The handlers write the plain `404 page not found` bodies. */
export const newGenericNotFound = (): ApiError =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

/** Converts a thrown error to an ApiError. Any other error becomes a bare 500 with its message, as in kube-apiserver. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(500, '', messageOf(error));
}
