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
  /** `merge`, `replace`, `retainKeys`, as the published schemas have them; empty: replace. */
  readonly patchStrategies: readonly string[];
  readonly patchMergeKey: string;
  /** Names of the embedded structs that it comes from; errors name them. */
  readonly embedded: readonly string[];
}

/** The shape of a built-in Go type: what decoding, its errors, encoding and strategic merge patches depend on. Immutable. */
export interface GoType {
  readonly kind: GoKind;
  /** As errors print it: `map[string]string`, `v1.ObjectMeta`. */
  readonly text: string;
  /** Without package; empty for unnamed types. */
  readonly name: string;
  /** For maps, slices and pointers. */
  readonly elem: GoType | undefined;
  /** For structs, in the order in which they are written. */
  readonly fields: ReadonlyMap<string, GoField>;
}

interface RawType {
  readonly k: GoKind;
  readonly s: string;
  readonly n?: string;
  readonly e?: number;
  readonly f?: readonly { n: string; t: number; o?: boolean; z?: boolean; ps?: string; pk?: string; em?: string[] }[];
}

interface RawTypes {
  readonly types: readonly RawType[];
  readonly kinds: Readonly<Record<string, number>>;
}

interface MutableType {
  kind: GoKind;
  text: string;
  name: string;
  elem: GoType | undefined;
  fields: Map<string, GoField>;
}

/** Links the numbered types of the data file; they may refer to each other in circles. */
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
    if (type === undefined) throw new Error(`data/types/types.json: no type ${String(index)}`);
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
  // Schemas within schemas: the types that are a schema or something simpler have no shape of their own in Go.
  const schema = all.find((type) => type.text === 'v1.JSONSchemaProps');
  for (const type of all) if (type.text.startsWith('v1.JSONSchemaPropsOr')) type.elem = schema;
  return new Map(Object.entries(raw.kinds).map(([key, index]) => [key, at(index)]));
}

/** Annex's own kinds, by the Kubernetes kinds whose shape they have. */
const SAME_SHAPE: Readonly<Record<string, string>> = {
  'kubeannex.io/v1/ResourceDefinition': 'apiextensions.k8s.io/v1/CustomResourceDefinition',
  'kubeannex.io/v1/ResourceDefinitionList': 'apiextensions.k8s.io/v1/CustomResourceDefinitionList',
};

let kinds: ReadonlyMap<string, GoType> | undefined;

/** The type of a built-in kind, meta/v1's under group `meta.k8s.io`; undefined where there is none. Loaded on first use. */
export function goType(gvk: GroupVersionKind): GoType | undefined {
  kinds ??= link(readDataFile('types', 'types.json') as unknown as RawTypes);
  const key = `${formatGroupVersion(gvk)}/${gvk.kind}`;
  return kinds.get(SAME_SHAPE[key] ?? key);
}

/** All built-in kinds, as `<group>/<version>/<kind>`. */
export function goTypeKeys(): Iterable<string> {
  kinds ??= link(readDataFile('types', 'types.json') as unknown as RawTypes);
  return [...kinds.keys(), ...Object.keys(SAME_SHAPE)];
}

/** What a pointer points to, the type itself otherwise. */
export function dereference(type: GoType): GoType {
  return type.kind === 'ptr' && type.elem !== undefined ? dereference(type.elem) : type;
}
