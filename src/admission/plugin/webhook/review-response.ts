import { MalformedAnswer } from '../../../client/webhook/answer.js';
import { goKind } from '../../../apimachinery/json/decode.js';
import type { StatusDetails } from '../../../apimachinery/meta/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { illegalBase64At } from '@annex/cel/formats/base64';
import type { ReviewResponseStatus } from './errors.js';

/** The response of an AdmissionReview. */
export interface ReviewResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status: ReviewResponseStatus | undefined;
  /** The text of the patch; '' if there is none. */
  readonly patch: string;
  readonly patchType: string | undefined;
  readonly auditAnnotations: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

type Kind = 'string' | 'boolean' | 'number' | 'object' | 'array';

const GO_TYPES: Readonly<Record<Kind, string>> = {
  string: 'string',
  boolean: 'bool',
  number: 'int32',
  object: 'map[string]string',
  array: '[]string',
};

/** A struct of the response, whose members are read by type. */
class Struct {
  constructor(
    private readonly value: JsonObject,
    private readonly type: string,
    private readonly path: string,
  ) {}

  member(field: string): JsonValue | undefined {
    const value = this.value[field];
    return value === null ? undefined : value;
  }

  private typed(field: string, kind: Kind, goType = GO_TYPES[kind], embedded = ''): JsonValue | undefined {
    const value = this.member(field);
    if (value === undefined) return undefined;
    const isInteger = typeof value === 'number' && Number.isInteger(value);
    const fits =
      kind === 'array'
        ? Array.isArray(value)
        : kind === 'object'
          ? isObject(value)
          : kind === 'number'
            ? isInteger
            : typeof value === kind;
    if (!fits) throw this.mismatch(value, embedded + field, goType);
    return value;
  }

  private mismatch(value: JsonValue, field: string, goType: string): MalformedAnswer {
    const shown = typeof value === 'number' && goType.startsWith('int') ? `number ${String(value)}` : goKind(value);
    return new MalformedAnswer(
      `json: cannot unmarshal ${shown} into Go struct field ${this.type}.${this.path}${field} of type ${goType}`,
    );
  }

  /** `embedded`: the name of the embedded struct that has the field. */
  text(field: string, goType?: string, embedded?: string): string | undefined {
    return this.typed(field, 'string', goType, embedded) as string | undefined;
  }

  flag(field: string): boolean {
    return (this.typed(field, 'boolean') as boolean | undefined) ?? false;
  }

  integer(field: string): number {
    return this.optionalInteger(field) ?? 0;
  }

  optionalInteger(field: string, goType?: 'int64'): number | undefined {
    return this.typed(field, 'number', goType) as number | undefined;
  }

  struct(field: string, type: string): Struct | undefined {
    const value = this.typed(field, 'object', type);
    const name = type.slice(type.lastIndexOf('.') + 1);
    return value === undefined ? undefined : new Struct(value as JsonObject, name, `${this.path}${field}.`);
  }

  structs(field: string, type: string): readonly Struct[] {
    const values = (this.typed(field, 'array', `[]${type}`) as JsonValue[] | undefined) ?? [];
    const name = type.slice(type.lastIndexOf('.') + 1);
    return values.map((value) => {
      if (value !== null && !isObject(value)) throw this.mismatch(value, field, type);
      return new Struct(value ?? {}, name, `${this.path}${field}.`);
    });
  }

  texts(field: string): readonly string[] {
    const values = (this.typed(field, 'array') as JsonValue[] | undefined) ?? [];
    return values.map((value) => {
      if (value !== null && typeof value !== 'string') throw this.mismatch(value, field, 'string');
      return value ?? '';
    });
  }

  textMap(field: string): Record<string, string> {
    const value = (this.typed(field, 'object') as JsonObject | undefined) ?? {};
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        if (member !== null && typeof member !== 'string') throw this.mismatch(member ?? null, field, 'string');
        return [key, member ?? ''];
      }),
    );
  }

  /** Decodes a field of bytes as text. */
  bytes(field: string): string {
    const encoded = this.text(field, '[]uint8');
    if (encoded === undefined || encoded === '') return '';
    const illegal = illegalBase64At(Buffer.from(encoded), 'standard');
    if (illegal !== undefined) throw new MalformedAnswer(`illegal base64 data at input byte ${String(illegal)}`);
    return Buffer.from(encoded, 'base64').toString('utf8');
  }
}

/** Decodes the response of a review; undefined if it has none. Throws MalformedAnswer with the message of Go's decoder. */
export function readReviewResponse(review: JsonObject): ReviewResponse | undefined {
  const response = new Struct(review, 'AdmissionReview', '').struct('response', 'v1.AdmissionResponse');
  if (response === undefined) return undefined;
  return {
    uid: response.text('uid', 'types.UID') ?? '',
    allowed: response.flag('allowed'),
    status: readStatus(response.struct('status', 'v1.Status')),
    patch: response.bytes('patch'),
    patchType: response.text('patchType', 'v1.PatchType'),
    auditAnnotations: response.textMap('auditAnnotations'),
    warnings: response.texts('warnings'),
  };
}

function readStatus(status: Struct | undefined): ReviewResponseStatus | undefined {
  if (status === undefined) return undefined;
  // Read for their types only.
  status.text('kind', undefined, 'TypeMeta.');
  status.text('apiVersion', undefined, 'TypeMeta.');
  status.text('status');
  return {
    metadata: readListMeta(status.struct('metadata', 'v1.ListMeta')),
    code: status.integer('code'),
    reason: status.text('reason', 'v1.StatusReason') ?? '',
    message: status.text('message') ?? '',
    details: readDetails(status.struct('details', 'v1.StatusDetails')),
  };
}

function readListMeta(meta: Struct | undefined): JsonObject {
  const out: JsonObject = {};
  for (const field of ['selfLink', 'resourceVersion', 'continue']) {
    const text = meta?.text(field) ?? '';
    if (text !== '') out[field] = text;
  }
  const remaining = meta?.optionalInteger('remainingItemCount', 'int64');
  if (remaining !== undefined) out['remainingItemCount'] = remaining;
  const shard = meta?.struct('shardInfo', 'v1.ShardInfo');
  if (shard !== undefined) out['shardInfo'] = { selector: shard.text('selector') ?? '' };
  return out;
}

function readDetails(details: Struct | undefined): StatusDetails | undefined {
  if (details === undefined) return undefined;
  const out: StatusDetails = {};
  for (const field of ['name', 'group', 'kind', 'uid'] as const) {
    const text = details.text(field) ?? '';
    if (text !== '') out[field] = text;
  }
  const causes = details.structs('causes', 'v1.StatusCause').map((cause) => {
    const entries = (['reason', 'message', 'field'] as const).map((field) => [field, cause.text(field) ?? '']);
    return Object.fromEntries(entries.filter(([, text]) => text !== '')) as {
      reason: string;
      message: string;
      field: string;
    };
  });
  if (causes.length > 0) out.causes = causes;
  const seconds = details.integer('retryAfterSeconds');
  if (seconds !== 0) out.retryAfterSeconds = seconds;
  return out;
}
