import { type DetailedJson, goKind } from '../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue, objectAt } from '../../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import { DecodeError } from '../../apimachinery/scheme/decode-error.js';
import { strictErrors } from '../../apimachinery/scheme/builtin-schema.js';
import { MetadataError, readMetadata } from '../../schema/metadata.js';
import { Age, tableOf } from '../builtin/shared/table.js';
import type { DecodedObject } from '../rest/served.js';

export const SCALE_GVK: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };

const INT32_MAX = 2147483647;
type FieldType = 'int32' | 'string';
const SPEC: Readonly<Record<string, FieldType>> = { replicas: 'int32' };
const STATUS: Readonly<Record<string, FieldType>> = { replicas: 'int32', selector: 'string' };
const TYPE_META = new Set(['apiVersion', 'kind']);

/** Reads a body as an autoscaling/v1 Scale, with Go's errors for wrong types. */
export function decodeScale(body: DetailedJson, strict: boolean): DecodedObject {
  const given = body.value as JsonObject;
  const unknown: string[] = [];
  const note = (path: string): void => {
    if (strict) unknown.push(path);
  };
  const object: KubeObject = { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: {}, spec: {}, status: {} };
  // In the order of the text, in which unknown fields are reported.
  for (const key in given) {
    const value = given[key];
    if (key === 'metadata') object.metadata = metadataOf(value, note);
    else if (key === 'spec') object['spec'] = fields(value, 'ScaleSpec', 'spec', SPEC, note, body.floats);
    else if (key === 'status') object['status'] = fields(value, 'ScaleStatus', 'status', STATUS, note, body.floats);
    else if (!TYPE_META.has(key)) note(key);
  }
  (object['status'] as JsonObject)['replicas'] ??= 0;
  return { object, strictErrors: strict ? strictErrors(body, unknown) : [] };
}

function metadataOf(value: JsonValue | undefined, note: (path: string) => void): KubeObject['metadata'] {
  if (value === undefined) return {};
  if (value !== null && !isObject(value)) {
    throw new DecodeError(
      `json: cannot unmarshal ${goKind(value)} into Go struct field Scale.metadata of type v1.ObjectMeta`,
    );
  }
  try {
    return readMetadata(value, 'throw', note, 'metadata');
  } catch (error) {
    throw error instanceof MetadataError ? new DecodeError(error.message) : error;
  }
}

function fields(
  value: JsonValue | undefined,
  struct: string,
  at: string,
  types: Readonly<Record<string, FieldType>>,
  note: (path: string) => void,
  floats: DetailedJson['floats'],
): JsonObject {
  const out: JsonObject = {};
  if (value === undefined || value === null) return out;
  if (!isObject(value))
    throw new DecodeError(
      `json: cannot unmarshal ${goKind(value)} into Go struct field Scale.${at} of type v1.${struct}`,
    );
  for (const key in value) {
    const member = value[key];
    const type = Object.hasOwn(types, key) ? types[key] : undefined;
    if (type === undefined) note(`${at}.${key}`);
    else if (member !== undefined && member !== null) {
      const literal = floats?.get(value)?.get(key);
      if (literal !== undefined || !fits(member, type)) {
        throw new DecodeError(mismatch(member, struct, `${at}.${key}`, type, literal));
      }
      // Go omits zero values: no manager owns replicas that are set to 0.
      if (at !== 'spec' || member !== 0) out[key] = member;
    }
  }
  return out;
}

const fits = (value: JsonValue, type: FieldType): boolean =>
  type === 'string'
    ? typeof value === 'string'
    : typeof value === 'number' && Number.isInteger(value) && value <= INT32_MAX && value >= -INT32_MAX - 1;

function mismatch(value: JsonValue, struct: string, path: string, type: FieldType, literal?: string): string {
  const what =
    typeof value === 'number' || typeof value === 'bigint' ? `number ${literal ?? String(value)}` : goKind(value);
  return `json: cannot unmarshal ${what} into Go struct field ${struct}.${path} of type ${type}`;
}

/** The Table of a scale subresource. */
export const scaleTable = tableOf('apis/autoscaling/v1/scale', (scale) => [
  scale.metadata.name ?? '',
  // Zero replicas are omitted from the spec, so the cell is empty.
  objectAt(scale, 'spec')?.['replicas'] || null,
  objectAt(scale, 'status')?.['replicas'] ?? 0,
  Age.of(scale),
]);
