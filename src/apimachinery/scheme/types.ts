import { readDataFile } from './data-files.js';
import { formatGroupVersion, type GroupVersionKind } from '../meta/meta.js';

type GoKind =
  | 'struct'
  | 'map'
  | 'slice'
  | 'ptr'
  | 'bytes'
  | 'custom'
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float64'
  | 'interface';

/** A field of a struct, under its JSON name. */
export interface GoField {
  readonly name: string;
  readonly type: GoType;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  /** `merge`, `replace`, `retainKeys`, as in the published schemas; empty means replace. */
  readonly patchStrategies: readonly string[];
  readonly patchMergeKey: string;
  /** The names of the embedded structs that the field comes from, which errors include. */
  readonly embedded: readonly string[];
}

/** The shape of a built-in Go type, on which decoding, its errors, encoding, and strategic merge patches depend. Immutable. */
export interface GoType {
  readonly kind: GoKind;
  /** The type as errors print it: `map[string]string`, `v1.ObjectMeta`. */
  readonly text: string;
  /** The name without its package; empty for unnamed types. */
  readonly name: string;
  /** The element type of maps, slices, and pointers. */
  readonly elem: GoType | undefined;
  /** The fields of structs, in the order in which they are written. */
  readonly fields: ReadonlyMap<string, GoField>;
}

/** A type as `data/types/types.json` describes it. */
export interface RawType {
  readonly k: GoKind;
  readonly s: string;
  readonly n?: string;
  /** The index of the element type of a pointer, slice, or map. */
  readonly e?: number;
  readonly f?: readonly RawField[];
}

export interface RawField {
  readonly n: string;
  /** The index of its type. */
  readonly t: number;
  readonly o?: boolean;
  readonly z?: boolean;
  readonly ps?: string;
  readonly pk?: string;
  readonly em?: readonly string[];
}

export interface RawTypes {
  readonly types: readonly RawType[];
  /** The type index of each `group/version/Kind` (`/v1/Kind` or `v1/Kind` for the core group). */
  readonly kinds: Readonly<Record<string, number>>;
}

export const readTypes = (): RawTypes => readDataFile('types', 'types.json') as unknown as RawTypes;

interface MutableType {
  kind: GoKind;
  text: string;
  name: string;
  elem: GoType | undefined;
  fields: Map<string, GoField>;
}

/** Links the numbered types of the data file, which may refer to each other in cycles. */
function link(raw: RawTypes): ReadonlyMap<string, GoType> {
  const all: MutableType[] = raw.types.map((t) => ({
    kind: t.k,
    text: t.s,
    name: t.n ?? '',
    elem: undefined,
    fields: new Map(),
  }));
  const at = (index: number): MutableType => {
    const type = all[index];
    if (type === undefined) throw new Error(`data/types/types.json: no type ${index}`);
    return type;
  };
  raw.types.forEach((t, i) => {
    const type = at(i);
    if (t.e !== undefined) type.elem = at(t.e);
    for (const f of t.f ?? []) {
      type.fields.set(f.n, {
        name: f.n,
        type: at(f.t),
        omitEmpty: f.o === true,
        omitZero: f.z === true,
        patchStrategies: f.ps === undefined || f.ps === '' ? [] : f.ps.split(','),
        patchMergeKey: f.pk ?? '',
        embedded: f.em ?? [],
      });
    }
  });
  // The types that are a schema or something simpler, within schemas, have no shape of their own in Go.
  const schema = all.find((type) => type.text === 'v1.JSONSchemaProps');
  for (const type of all) if (type.text.startsWith('v1.JSONSchemaPropsOr')) type.elem = schema;
  return new Map(Object.entries(raw.kinds).map(([key, index]) => [key, at(index)]));
}

/** Annex's own kinds, and the Kubernetes kinds with the same shape. */
const SAME_SHAPE: Readonly<Record<string, string>> = {
  'kubeannex.io/v1/ResourceDefinition': 'apiextensions.k8s.io/v1/CustomResourceDefinition',
  'kubeannex.io/v1/ResourceDefinitionList': 'apiextensions.k8s.io/v1/CustomResourceDefinitionList',
};

let loaded: ReadonlyMap<string, GoType> | undefined;

const kinds = (): ReadonlyMap<string, GoType> => (loaded ??= link(readTypes()));

/** Returns the type of a built-in kind; those of meta/v1 are in group `meta.k8s.io`. Undefined if none exists. Loads the types on first use. */
export function goType(gvk: GroupVersionKind): GoType | undefined {
  const key = `${formatGroupVersion(gvk)}/${gvk.kind}`;
  return kinds().get(SAME_SHAPE[key] ?? key);
}

/** Returns all built-in kinds, as `<group>/<version>/<kind>`. */
export function goTypeKeys(): Iterable<string> {
  return [...kinds().keys(), ...Object.keys(SAME_SHAPE)];
}

/** Returns the type that a pointer points to; any other type itself. */
export function dereference(type: GoType): GoType {
  return type.kind === 'ptr' && type.elem !== undefined ? dereference(type.elem) : type;
}
