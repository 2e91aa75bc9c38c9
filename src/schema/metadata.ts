import { type JsonObject, type JsonValue, isObject } from '../apimachinery/json/json.js';
import { goKind } from '../apimachinery/json/decode.js';
import { goTypeName } from '../apimachinery/json/go-format.js';
import { compareUtf8 } from '../apimachinery/meta/meta.js';
import { canonicalTime, TimeError } from '../apimachinery/meta/time.js';

/** The Go type of a metadata field, as far as decoding depends on it. */
type FieldType = 'string' | 'uid' | 'int64' | 'bool' | 'time' | 'strings' | 'map' | 'any' | StructList;

interface StructList {
  readonly name: string;
  readonly fields: Readonly<Record<string, FieldType>>;
}

const OWNER_REFERENCE: StructList = {
  name: 'OwnerReference',
  fields: {
    apiVersion: 'string',
    kind: 'string',
    name: 'string',
    uid: 'uid',
    controller: 'bool',
    blockOwnerDeletion: 'bool',
  },
};

const MANAGED_FIELDS: StructList = {
  name: 'ManagedFieldsEntry',
  fields: {
    manager: 'string',
    operation: 'string',
    apiVersion: 'string',
    time: 'time',
    fieldsType: 'string',
    fieldsV1: 'any',
    subresource: 'string',
  },
};

const OBJECT_META: StructList = {
  name: 'ObjectMeta',
  fields: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    selfLink: 'string',
    uid: 'uid',
    resourceVersion: 'string',
    generation: 'int64',
    creationTimestamp: 'time',
    deletionTimestamp: 'time',
    deletionGracePeriodSeconds: 'int64',
    labels: 'map',
    annotations: 'map',
    ownerReferences: OWNER_REFERENCE,
    finalizers: 'strings',
    managedFields: MANAGED_FIELDS,
  },
};

/** The fields of ObjectMeta in the order of the Go struct. */
export const OBJECT_META_FIELDS: readonly string[] = Object.keys(OBJECT_META.fields);

/** Fields that keep their zero value, because they are pointers in Go or always written. */
const KEPT = new Set(['deletionGracePeriodSeconds', 'controller', 'blockOwnerDeletion', 'fieldsV1']);
const REQUIRED_OF_OWNER = ['apiVersion', 'kind', 'name', 'uid'];

export class MetadataError extends Error {}

/** How to treat fields of wrong types. */
export type WrongTypePolicy = 'throw' | 'drop';

/**
 * Reads the metadata of an embedded object as kube-apiserver reads ObjectMeta: unknown fields and empty values are dropped, and
 * the paths of unknown fields are passed to `unknown`. Throws a MetadataError at the first wrong type, unless wrong fields are
 * dropped.
 * @param root where the paths start; by default, at the metadata
 */
export function readMetadata(
  value: JsonValue,
  wrong: WrongTypePolicy,
  unknown?: (path: string) => void,
  root = '',
): JsonObject {
  if (!isObject(value)) {
    if (value === null) return {};
    if (wrong === 'drop') throw new MetadataError(`invalid metadata: expected object, got ${goTypeName(value)}`);
    throw new MetadataError(`json: cannot unmarshal ${goKind(value)} into Go value of type v1.ObjectMeta`);
  }
  return readStruct(value, OBJECT_META, root, wrong, unknown);
}

/** Sorts the paths of unknown fields in the order in which kube-apiserver finds them: it has re-encoded the metadata with sorted keys. */
export const inOrderOfKeys = (paths: readonly string[]): string[] =>
  paths
    .map((path) => ({ path, key: path.replace(/\[(\d+)\]/g, (_, index: string) => `[${index.padStart(9, '0')}]`) }))
    .sort((a, b) => compareUtf8(a.key, b.key))
    .map(({ path }) => path);

function readStruct(
  value: JsonObject,
  struct: StructList,
  path: string,
  wrong: WrongTypePolicy,
  unknown: ((path: string) => void) | undefined,
): JsonObject {
  const out: JsonObject = {};
  const failures: Failure[] = [];
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    const type = Object.hasOwn(struct.fields, key) ? struct.fields[key] : undefined;
    const at = path === '' ? key : `${path}.${key}`;
    if (type === undefined) unknown?.(at);
    else if (member !== null) {
      try {
        const read = readField(member, type, struct.name, at, unknown);
        if (read !== undefined && (KEPT.has(key) || !isEmpty(read))) out[key] = read;
      } catch (error) {
        if (!(error instanceof MetadataError)) throw error;
        if (wrong === 'drop') continue;
        failures.push({ key, error, fatal: type === 'time' });
      }
    }
  }
  const failure = firstFailure(failures);
  if (failure !== undefined) throw failure;
  if (struct === OWNER_REFERENCE) for (const key of REQUIRED_OF_OWNER) out[key] ??= '';
  return out;
}

interface Failure {
  readonly key: string;
  readonly error: MetadataError;
  /** Go continues after a wrong type, but stops at an invalid time. */
  readonly fatal: boolean;
}

/** Returns the error that Go reports first. By then, Go has re-encoded the object with sorted keys. */
function firstFailure(failures: Failure[]): MetadataError | undefined {
  const sorted = failures.sort((a, b) => (a.key < b.key ? -1 : 1));
  return (sorted.find(({ fatal }) => fatal) ?? sorted[0])?.error;
}

function isEmpty(value: JsonValue): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === '' || value === 0;
}

function readField(
  value: JsonValue,
  type: FieldType,
  struct: string,
  path: string,
  unknown: ((path: string) => void) | undefined,
): JsonValue | undefined {
  // Indices are not part of the path in Go's decoding errors.
  const fail = (found: JsonValue, goType: string): never => {
    const field = path.replace(/\[\d+\]/g, '');
    const number = typeof found === 'number' || typeof found === 'bigint';
    const what = number && goType.startsWith('int') ? `number ${String(found)}` : goKind(found);
    throw new MetadataError(`json: cannot unmarshal ${what} into Go struct field ${struct}.${field} of type ${goType}`);
  };
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : fail(value, 'string');
    case 'uid':
      return typeof value === 'string' ? value : fail(value, 'types.UID');
    case 'bool':
      return typeof value === 'boolean' ? value : fail(value, 'bool');
    case 'int64':
      return typeof value === 'bigint' || Number.isSafeInteger(value) ? value : fail(value, type);
    case 'time':
      return typeof value === 'string' ? readTime(value) : fail(value, 'string');
    case 'any':
      return value;
    case 'strings':
      return Array.isArray(value)
        ? value.map((item) => (typeof item === 'string' ? item : item === null ? '' : fail(item, 'string')))
        : fail(value, '[]string');
    case 'map':
      return isObject(value) ? readMap(value, (found) => fail(found, 'string')) : fail(value, 'map[string]string');
    default:
      if (!Array.isArray(value)) return fail(value, `[]v1.${type.name}`);
      return value.map((item, i) => {
        if (item === null) return readStruct({}, type, path, 'throw', unknown);
        const at = `${path}[${String(i)}]`;
        return isObject(item) ? readStruct(item, type, at, 'throw', unknown) : fail(item, `v1.${type.name}`);
      });
  }
}

function readMap(value: JsonObject, fail: (found: JsonValue) => never): JsonObject {
  const out: JsonObject = {};
  const wrong: string[] = [];
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    if (typeof member === 'string' || member === null) out[key] = member ?? '';
    else wrong.push(key);
  }
  // Go reads the keys in sorted order.
  const [first] = wrong.sort(compareUtf8);
  return first === undefined ? out : fail(value[first] ?? null);
}

/** Reads a metav1.Time: RFC 3339, rewritten in UTC with whole seconds. */
function readTime(value: string): JsonValue {
  try {
    return canonicalTime(value) ?? value;
  } catch (error) {
    throw error instanceof TimeError ? new MetadataError(error.message) : error;
  }
}
