import { ApiError, type StatusDetails } from '../apimachinery/meta/errors.js';
import type { JsonObject } from '../apimachinery/json/json.js';
import type { AdmissionOperation } from '../admission/interfaces.js';
import type { UserInfo } from '../authentication/user/user.js';
import type { AuthorizationResult, AuthorizerAttributes } from '../authorization/authorizer/interfaces.js';
import type { ResolvedRules, PolicyRule, RoleRef } from '../authorization/rbac/types.js';
import type { Description } from '../endpoints/openapi/parts.js';
import type { OpenApiGroupVersion } from '../endpoints/openapi/source.js';
import type { ItemForm } from '../endpoints/responsewriters/sink.js';
import type { ValidationReport } from '../registry/builtin/declarative/declared-type.js';
import type { ConversionOutcome } from '../registry/customresource/conversion/conversion-metrics.js';
import type { AuditLevel } from '../request/audit.js';
import type { RequestInfo } from '../request/request-info.js';
import { StorageError, type StorageErrorCode, type Undecodable } from '../storage/errors.js';
import type { Attributes, EncodedObject, Revision, StoredObject } from '../storage/interfaces.js';
import type { Layer } from '../util/metrics/stopwatch.js';
import { messageOf } from '../util/error-message.js';

/** A request for a worker, with everything that its handler reads. */
export interface Task {
  readonly type: 'task';
  readonly id: number;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly userAgent: string;
  readonly auditId: string;
  readonly receivedAt: number;
  readonly audited: boolean;
  readonly maxRequestBodyBytes: number;
  readonly admission: AdmissionFacts;
  readonly definition: DefinitionFacts | undefined;
  /** Set if the body is a stored object: the response to a get, or an item of a list that is to be rendered. */
  readonly read: ReadFacts | undefined;
}

export interface ReadFacts {
  readonly key: string;
  readonly revision: Revision;
  readonly flags: number;
  /** The form of the item; set for list items only. */
  readonly form: ItemForm | undefined;
}

/** The properties of the admission chain that the worker needs for the request's type. */
export interface AdmissionFacts {
  readonly mutates: readonly AdmissionOperation[];
  /** The operations whose plugins read the object, so that it must be sent. */
  readonly reads: readonly AdmissionOperation[];
}

/** A custom type and its definition. The serialized definition is sent to each worker only once. */
export interface DefinitionFacts {
  readonly id: string;
  /** The name of the type in the store. */
  readonly resource: string;
  readonly cbor: boolean;
  readonly serialized: Uint8Array | undefined;
  /** The IDs of the definitions that the worker must drop. */
  readonly forget: readonly string[];
}

/** An encoded object to be written. */
export interface SentValue extends Pick<EncodedObject, 'head' | 'tail' | 'flags'> {
  readonly attributes: Attributes;
}

export type SentObject = Pick<StoredObject, 'key' | 'revision' | 'bytes' | 'flags' | 'unreadable' | 'stale'>;

export interface SentAdmission {
  readonly operation: AdmissionOperation;
  readonly name: string;
  readonly namespace: string;
  /** The object as JSON; undefined if there is none, or if no plugin reads it. */
  readonly object: string | undefined;
  readonly oldObject: string | undefined;
  readonly options: string;
  readonly dryRun: boolean;
}

/** The calls of a worker to the main thread, for everything that it cannot do itself. */
export type Call =
  | { readonly method: 'get'; readonly resource: string; readonly key: string }
  | {
      readonly method: 'write';
      readonly resource: string;
      readonly key: string;
      readonly expected: Revision;
      readonly value: SentValue | undefined;
    }
  | { readonly method: 'admit' | 'validate'; readonly attributes: SentAdmission }
  | { readonly method: 'authorize'; readonly attributes: AuthorizerAttributes }
  | { readonly method: 'policyRules'; readonly user: UserInfo; readonly namespace: string }
  | { readonly method: 'roleRules'; readonly ref: RoleRef; readonly namespace: string }
  /** Sends a review to the conversion webhook of the request's type. */
  | { readonly method: 'review'; readonly body: string };

export interface CallResults {
  get: SentObject | undefined;
  write: { readonly committed: boolean; readonly object: SentObject | undefined };
  /** The object after mutation by the plugins. */
  admit: string | undefined;
  validate: undefined;
  authorize: AuthorizationResult;
  policyRules: ResolvedRules;
  roleRules: readonly PolicyRule[] | undefined;
  review: string;
}

export type CallResult = CallResults[keyof CallResults];

export interface SentResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | string[]>>;
  readonly body: Uint8Array;
  /** The attributes that selectors match; set in the response to a ShowTask. */
  readonly attributes?: Attributes;
}

export type FromWorker =
  /** The worker has loaded its program. From now on, its work starts at once. */
  | { readonly type: 'ready' }
  | { readonly type: 'call'; readonly task: number; readonly call: number; readonly request: Call }
  | { readonly type: 'warning'; readonly task: number; readonly text: string }
  | {
      readonly type: 'annotation';
      readonly task: number;
      readonly key: string;
      readonly value: string;
      readonly level: AuditLevel | undefined;
    }
  | {
      readonly type: 'audit';
      readonly task: number;
      readonly what: 'request' | 'response' | 'status';
      readonly text: string;
    }
  /** The result of declarative validation of a built-in type. */
  | { readonly type: 'compared'; readonly report: ValidationReport }
  | { readonly type: 'converted'; readonly task: number; readonly conversion: ConversionOutcome }
  | { readonly type: 'spent'; readonly task: number; readonly layer: Layer; readonly millis: number }
  | { readonly type: 'done'; readonly task: number; readonly response: SentResponse }
  | { readonly type: 'failed'; readonly task: number; readonly error: SerializedError };

/** A group version to be described. Each kind is serialized by node:v8. */
export interface DescribeTask {
  readonly type: 'describe';
  readonly id: number;
  readonly what: Description;
  readonly gv: Omit<OpenApiGroupVersion, 'kinds'>;
  readonly kinds: readonly Uint8Array[];
}

/** An object to be rendered in a version other than the stored one. */
export interface ShowTask {
  readonly type: 'show';
  readonly id: number;
  readonly definition: DefinitionFacts;
  readonly groupVersion: string;
  readonly key: string;
  readonly revision: Revision;
  readonly flags: number;
  readonly body: Uint8Array;
}

export type ToWorker =
  | Task
  | ShowTask
  | DescribeTask
  | { readonly type: 'abort'; readonly task: number }
  | { readonly type: 'answer'; readonly call: number; readonly value: CallResult }
  | { readonly type: 'refusal'; readonly call: number; readonly error: SerializedError };

export interface SerializedError {
  readonly message: string;
  readonly stack?: string | undefined;
  /** The name of the error's class, so that errors caused by a bug in the program keep it. */
  readonly name?: string | undefined;
  readonly api?: {
    readonly code: number;
    readonly reason: string;
    readonly details: StatusDetails | undefined;
    readonly metadata: JsonObject;
  };
  readonly storage?: {
    readonly code: StorageErrorCode;
    readonly revision: Revision | undefined;
    readonly current: Revision | undefined;
    readonly undecodable: readonly Undecodable[] | undefined;
  };
}

export function serializeError(error: unknown): SerializedError {
  const message = messageOf(error);
  if (error instanceof ApiError) {
    return {
      message,
      api: { code: error.code, reason: error.reason, details: error.details, metadata: error.metadata },
    };
  }
  if (error instanceof StorageError) {
    const { revision, current, undecodable } = error.info;
    return { message, storage: { code: error.code, revision, current, undecodable } };
  }
  return error instanceof Error ? { message, stack: error.stack, name: error.name } : { message };
}

export function deserializeError({ message, stack, name, api, storage }: SerializedError): Error {
  if (api !== undefined) return new ApiError(api.code, api.reason, message, api.details, api.metadata);
  if (storage !== undefined) {
    const { code, revision, current, undecodable } = storage;
    return new StorageError(code, message, {
      ...(revision === undefined ? {} : { revision }),
      ...(current === undefined ? {} : { current }),
      ...(undecodable === undefined ? {} : { undecodable }),
    });
  }
  const error =
    name === 'TypeError'
      ? new TypeError(message)
      : name === 'RangeError'
        ? new RangeError(message)
        : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Returns a copy that can be transferred. The buffer of the original may be far larger, and stays with this thread. */
export function copyForTransfer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Returns the buffer of the bytes for a transfer, if it holds nothing else. */
export const ownedBuffers = (bytes: Uint8Array): ArrayBuffer[] =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : [];

/** Returns the buffers of an answer for a transfer. Bytes in an answer are always copies made for that purpose. */
export function transferList(value: CallResult): ArrayBuffer[] {
  if (typeof value !== 'object' || Array.isArray(value)) return [];
  const object = 'bytes' in value ? value : 'object' in value ? value.object : undefined;
  return object?.bytes.buffer instanceof ArrayBuffer ? [object.bytes.buffer] : [];
}
