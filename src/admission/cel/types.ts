import { CelError, Opaque, types, type StructDecl, type Type, type Value } from '@annex/cel';
import { type Structs, structsOf } from '../../expressions/types.js';
import { getOwn } from '../../util/get-own.js';

const { BOOL, DYN, INT, STRING, TIMESTAMP, listOf, mapOf, objectType } = types;

const KIND = objectType('kubernetes.GroupVersionKind');
const RESOURCE = objectType('kubernetes.GroupVersionResource');

export const REQUEST_TYPE = objectType('kubernetes.AdmissionRequest');
export const NAMESPACE_TYPE = objectType('kubernetes.Namespace');
export const VARIABLES_TYPE = objectType('kubernetes.variables');

/** The declared types of admission expressions. `object`, `oldObject` and `params` are not declared. */
const STRUCTS: Structs = {
  'kubernetes.GroupVersionKind': { group: STRING, version: STRING, kind: STRING },
  'kubernetes.GroupVersionResource': { group: STRING, version: STRING, resource: STRING },
  'kubernetes.UserInfo': {
    username: STRING,
    uid: STRING,
    groups: listOf(STRING),
    extra: mapOf(STRING, listOf(STRING)),
  },
  'kubernetes.AdmissionRequest': {
    kind: KIND,
    resource: RESOURCE,
    subResource: STRING,
    requestKind: KIND,
    requestResource: RESOURCE,
    requestSubResource: STRING,
    name: STRING,
    namespace: STRING,
    operation: STRING,
    userInfo: objectType('kubernetes.UserInfo'),
    dryRun: BOOL,
    options: DYN,
  },
  'kubernetes.NamespaceSpec': { finalizers: listOf(STRING) },
  'kubernetes.NamespaceCondition': {
    status: STRING,
    type: STRING,
    lastTransitionTime: TIMESTAMP,
    message: STRING,
    reason: STRING,
  },
  'kubernetes.NamespaceStatus': { conditions: listOf(objectType('kubernetes.NamespaceCondition')), phase: STRING },
  'kubernetes.NamespaceMetadata': {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: mapOf(STRING, STRING),
    annotations: mapOf(STRING, STRING),
    UID: STRING,
    creationTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    deletionTimestamp: TIMESTAMP,
    generation: INT,
    resourceVersion: STRING,
    finalizers: listOf(STRING),
  },
  'kubernetes.Namespace': {
    metadata: objectType('kubernetes.NamespaceMetadata'),
    spec: objectType('kubernetes.NamespaceSpec'),
    status: objectType('kubernetes.NamespaceStatus'),
  },
};

export const admissionStruct = structsOf(STRUCTS);

/** An `Object{…}` literal, or one of a nested type. Expressions do not know the fields of the resource's schema. */
export class ObjectLiteral extends Opaque {
  constructor(
    readonly typeName: string,
    readonly fields: ReadonlyMap<string, Value>,
  ) {
    super();
  }

  override get isZero(): boolean {
    return this.fields.size === 0;
  }

  override field(name: string): Value | undefined {
    return this.fields.get(name);
  }

  equals(other: Value): boolean {
    if (!(other instanceof ObjectLiteral) || other.typeName !== this.typeName) return false;
    if (other.fields.size !== this.fields.size) return false;
    for (const [name, value] of this.fields) if (!sameScalar(value, other.fields.get(name))) return false;
    return true;
  }
}

/** A `JSONPatch{…}` literal: one operation. */
export class PatchOperation extends Opaque {
  readonly typeName = JSON_PATCH;

  constructor(
    readonly op: string,
    readonly path: string,
    readonly from: string,
    readonly value: Value | undefined,
  ) {
    super();
  }

  equals(other: Value): boolean {
    return (
      other instanceof PatchOperation &&
      other.op === this.op &&
      other.path === this.path &&
      other.from === this.from &&
      sameScalar(this.value ?? null, other.value ?? null)
    );
  }
}

/** Compares parts of literals: by identity, except for nested literals and other opaque values. */
function sameScalar(a: Value, b: Value | undefined): boolean {
  return a === b || (a instanceof Opaque && b !== undefined && a.equals(b) === true);
}

const JSON_PATCH = 'JSONPatch';
export const PATCH_TYPE = objectType(JSON_PATCH);
export const OBJECT_TYPE = objectType('Object');
/** The type that kube-apiserver gives to fields that an operation does not have: no value is of that type. */
const NO_TYPE = objectType('');
const PATCH_FIELDS: Readonly<Record<string, Type>> = { op: STRING, path: STRING, from: STRING, value: DYN };

function createPatch(fields: ReadonlyMap<string, Value>): Value {
  const text = (name: string): string => {
    const value = fields.get(name);
    return typeof value === 'string' ? value : '';
  };
  for (const name of ['op', 'path', 'from']) {
    const value = fields.get(name);
    if (value !== undefined && typeof value !== 'string') {
      return new CelError(`unexpected type ${goKind(value)} for JSONPatchType '${name}' field`);
    }
  }
  return new PatchOperation(text('op'), text('path'), text('from'), fields.get('value'));
}

/** Returns the Go kind of a value that is not a string. */
function goKind(value: Value): string {
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'number' || typeof value === 'bigint' ? 'int64' : '<nil>';
}

/** Resolves the types that mutations construct: `JSONPatch`, and `Object` with everything below it. */
export function patchStruct(name: string): StructDecl | undefined {
  if (name === JSON_PATCH) {
    return { type: PATCH_TYPE, field: (field) => getOwn(PATCH_FIELDS, field) ?? NO_TYPE, create: createPatch };
  }
  if (name !== 'Object' && !name.startsWith('Object.')) return undefined;
  return { type: objectType(name), field: () => DYN, create: (fields) => new ObjectLiteral(name, fields) };
}
