import protobuf from 'protobufjs';
import type { RawField, RawType, RawTypes } from '../scheme/types.js';
import { goFieldName } from './go-names.js';
import { type SpecialValue, specialValues } from './special-values.js';

export type Scalar = 'string' | 'int32' | 'int64' | 'bool' | 'double' | 'bytes';

/** The content of a field: a scalar, a message with a JSON form of its own, or an ordinary message. */
export type Content =
  | { readonly scalar: Scalar }
  | { readonly special: SpecialValue }
  | { readonly plan: () => Plan }
  /** One of the JSON-schema unions; see `messages.ts`. */
  | { readonly union: UnionKind; readonly plan: () => Plan };

export type UnionKind = 'JSONSchemaPropsOrArray' | 'JSONSchemaPropsOrBool' | 'JSONSchemaPropsOrStringArray';

export interface FieldPlan {
  readonly id: number;
  /** The name in JSON; '' for a message whose fields JSON inlines into the outer one. */
  readonly name: string;
  /** The name in Go, as error messages print it. */
  readonly goName: string;
  readonly content: Content;
  readonly repeated: boolean;
  /** True for a map from strings to the content. */
  readonly map: boolean;
  /** True for a Go value that is not a pointer: it is written even if absent or empty, and omitted from JSON if empty. */
  readonly value: boolean;
}

/** Describes how a message is read and written. */
export interface Plan {
  /** The message's own name, as error messages print it. */
  readonly message: string;
  /** Fields in descending order of ids, the order of writing. */
  readonly fields: readonly FieldPlan[];
  readonly byId: ReadonlyMap<number, FieldPlan>;
}

/** Fields whose message JSON inlines into the outer message. */
const inlineFields: ReadonlySet<string> = new Set([
  'rule',
  'localObjectReference',
  'handler',
  'persistentVolumeSource',
  'volumeSource',
  'ephemeralContainerCommon',
  'ruleWithOperations',
]);

const scalars: ReadonlySet<string> = new Set(['string', 'int32', 'int64', 'bool', 'double', 'bytes']);
const unions: ReadonlySet<string> = new Set([
  'JSONSchemaPropsOrArray',
  'JSONSchemaPropsOrBool',
  'JSONSchemaPropsOrStringArray',
]);

/** Normalizes a name for comparisons, which ignore case and punctuation: `xKubernetesEmbeddedResource` is `x-kubernetes-embedded-resource`. */
const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Creates plans from message descriptors and Go types, each of them once. */
export class Planner {
  private readonly plans = new Map<string, Plan>();
  private readonly byName = new Map<string, RawType>();

  constructor(
    private readonly root: protobuf.Root,
    private readonly go: RawTypes,
  ) {
    for (const type of go.types) if (!this.byName.has(type.s)) this.byName.set(type.s, type);
  }

  message(fullName: string): protobuf.Type | undefined {
    const found = this.root.lookup(fullName);
    return found instanceof protobuf.Type ? found : undefined;
  }

  /** Returns the plan of a message. If its Go type is unknown, every singular field counts as a value. */
  plan(message: protobuf.Type, go: RawType | undefined): Plan {
    const key = `${message.fullName} ${go?.s ?? ''} ${go === undefined ? '' : this.go.types.indexOf(go)}`;
    let plan = this.plans.get(key);
    if (plan === undefined) {
      plan = this.make(message, go);
      this.plans.set(key, plan);
    }
    return plan;
  }

  private make(message: protobuf.Type, go: RawType | undefined): Plan {
    const names = new Map<string, RawField>((go?.f ?? []).map((field) => [plain(field.n), field]));
    const fields = message.fieldsArray.map((field) => this.field(field.resolve(), go, names));
    fields.sort((a, b) => b.id - a.id);
    return { message: message.name, fields, byId: new Map(fields.map((field) => [field.id, field])) };
  }

  private field(field: protobuf.Field, go: RawType | undefined, names: ReadonlyMap<string, RawField>): FieldPlan {
    const goField = names.get(plain(field.name));
    const map = field instanceof protobuf.MapField;
    const base = { id: field.id, repeated: field.repeated, map };
    const target = field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
    const goName = goFieldName(field.parent?.name ?? '', field.name, target?.name);
    if (target !== undefined && inlineFields.has(field.name) && (goField === undefined || !this.isMessage(goField))) {
      return { ...base, name: '', goName, content: { plan: () => this.plan(target, go) }, value: true };
    }
    const type = goField === undefined ? undefined : this.go.types[goField.t];
    return {
      ...base,
      name: goField?.n ?? field.name,
      goName,
      content: this.content(field, target, this.element(type)),
      value:
        !map &&
        !field.repeated &&
        type?.k !== 'ptr' &&
        type?.k !== 'bytes' &&
        type?.k !== 'slice' &&
        !isOptional(field, go),
    };
  }

  private isMessage(field: RawField): boolean {
    return this.element(this.go.types[field.t])?.k === 'struct';
  }

  /** Returns the type behind pointers, slices, and maps. */
  private element(type: RawType | undefined): RawType | undefined {
    let current = type;
    while (current?.e !== undefined) current = this.go.types[current.e];
    return current;
  }

  private content(field: protobuf.Field, target: protobuf.Type | undefined, go: RawType | undefined): Content {
    if (target === undefined) {
      if (!scalars.has(field.type)) throw new TypeError(`unknown type ${field.type} of ${field.fullName}`);
      return { scalar: field.type as Scalar };
    }
    const special = specialValues.get(target.fullName);
    if (special !== undefined) return { special };
    if (unions.has(target.name)) {
      const props = target.parent?.lookup('JSONSchemaProps');
      if (!(props instanceof protobuf.Type)) throw new TypeError('JSONSchemaProps is not described');
      const type = this.byName.get('v1.JSONSchemaProps');
      return { union: target.name as UnionKind, plan: () => this.plan(props, type) };
    }
    return { plan: () => this.plan(target, go?.k === 'struct' ? go : undefined) };
  }
}

const POINTERS: ReadonlySet<string> = new Set(['remainingItemCount', 'shardInfo', 'responseKind', 'details']);

/** Reports whether a field is a pointer, for types that have no Go description here. */
function isOptional(field: protobuf.Field, go: RawType | undefined): boolean {
  return go === undefined && POINTERS.has(field.name);
}
