import type { DetailedJson } from '../json/decode.js';
import { noteFloats } from '../json/float.js';
import { JsonError } from '../json/syntax.js';
import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import { formatGroupVersion, type GroupVersionKind, type KubeObject, quote } from '../meta/meta.js';
import { TypedDecoder } from './decoder.js';
import { convertNumbers } from './go-numbers.js';
import { goType, type GoType } from './types.js';
import { zeroValue } from './written-form.js';

export interface TypedObject {
  readonly object: KubeObject;
  /** Errors such as `unknown field "spec.x"` and `duplicate field "spec.a"`, in the order of the text. Empty unless requested. */
  readonly strictErrors: readonly string[];
}

/** Decodes objects of one built-in kind. There is one instance per kind. */
export class BuiltinSchema {
  constructor(
    readonly gvk: GroupVersionKind,
    readonly type: GoType,
  ) {}

  /**
   * Returns the object as kube-apiserver would return it, apart from defaults: known fields only, in the type's order, zero
   * values dropped, times and quantities canonical. apiVersion and kind stay as given. Throws JsonError with the decoder's
   * message. The given tree is not modified, and not kept except for raw values.
   */
  decode(json: DetailedJson, strict = false): TypedObject {
    const { source } = json;
    // Mismatches and unknown fields also count where a later value of the same field replaces them.
    const first = source && new TypedDecoder({ strict, floats: source.floats, parts: source.parts });
    first?.run(this.type, source?.value ?? null);
    const decoder = new TypedDecoder({
      strict: strict && first === undefined,
      floats: json.floats,
      nulled: json.nulled,
    });
    const object = decoder.run(this.type, json.value);
    const { unknown } = first ?? decoder;
    if (json.floats !== undefined && isObject(object)) noteFloats(object, json.floats);
    return { object: withMetadata(object), strictErrors: strict ? strictErrors(json, unknown) : [] };
  }

  /** Returns a tree that is known to fit the type, in the same form. Throws JsonError. */
  normalize(object: JsonValue): KubeObject {
    try {
      return withMetadata(new TypedDecoder().run(this.type, object));
    } catch (error) {
      // Numbers that need conversion are rare, and the decoder always rejects them.
      const converted = error instanceof JsonError ? convertNumbers(this.type, object) : object;
      if (converted === object) throw error;
      return withMetadata(new TypedDecoder().run(this.type, converted));
    }
  }

  /** Returns an object with only apiVersion, kind, and what is always written. */
  empty(): KubeObject {
    const object = withMetadata(zeroValue(this.type));
    return { kind: this.gvk.kind, apiVersion: formatGroupVersion(this.gvk), ...object };
  }
}

function withMetadata(value: JsonValue): KubeObject {
  const object: JsonObject = isObject(value) ? value : {};
  const { metadata } = object;
  if (!isObject(metadata)) object['metadata'] = {};
  return object as KubeObject;
}

/** Returns the errors for unknown and duplicate fields, in the order of the text. */
export function strictErrors(json: DetailedJson, unknown: readonly string[]): string[] {
  const { positions, duplicates } = json;
  const source = json.sourceErrors ?? [];
  if (positions === undefined) return [...source, ...unknown.map((path) => `unknown field ${quote(path)}`)];
  const found = [
    ...unknown.map((path) => ({ text: `unknown field ${quote(path)}`, at: positions.get(path) ?? 0 })),
    ...duplicates
      .filter((path) => !unknown.some((parent) => isWithin(path, parent)))
      .map((path) => ({ text: `duplicate field ${quote(path)}`, at: positions.get(`duplicate ${path}`) ?? 0 })),
  ];
  return [...source, ...found.sort((a, b) => a.at - b.at).map((entry) => entry.text)];
}

/** Reports whether a path is within an unknown field, whose content is not checked. */
const isWithin = (path: string, parent: string): boolean =>
  path === parent || path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`);

const schemas = new Map<string, BuiltinSchema>();

/** Returns the schema of a built-in kind; undefined for unknown kinds. */
export function builtinSchema(gvk: GroupVersionKind): BuiltinSchema | undefined {
  const key = `${formatGroupVersion(gvk)}/${gvk.kind}`;
  let schema = schemas.get(key);
  if (schema === undefined) {
    const type = goType(gvk);
    if (type === undefined) return undefined;
    schema = new BuiltinSchema(gvk, type);
    schemas.set(key, schema);
  }
  return schema;
}

/** Like builtinSchema, for kinds that are known to exist. */
export function requireSchema(group: string, version: string, kind: string): BuiltinSchema {
  const schema = builtinSchema({ group, version, kind });
  if (schema === undefined) throw new Error(`no built-in kind ${group}/${version} ${kind}`);
  return schema;
}
