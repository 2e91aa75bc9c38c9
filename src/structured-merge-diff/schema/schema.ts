import type { JsonValue } from '../../apimachinery/json/json.js';
import type { PathElement } from '../fieldpath/path-element.js';

/** The type of a scalar; `untyped` accepts any. */
export type Scalar = 'numeric' | 'string' | 'boolean' | 'untyped';

/**
 * A type: which of scalar, list and map a value may be, and how lists and maps are merged. Types refer to each other
 * directly, possibly in cycles, and are never changed once built. A type with none of the three accepts no value.
 */
export interface Type {
  readonly scalar?: Scalar | undefined;
  readonly list?: ListType | undefined;
  readonly map?: MapType | undefined;
}

export interface ListType {
  readonly element: Type;
  /** An atomic list is a single value with one owner. */
  readonly atomic: boolean;
  /** The fields that identify an item of a list that is not atomic. Empty: the list is a set of scalars. */
  readonly keys: readonly string[];
}

export interface MapType {
  readonly fields: StructFields;
  /** The type of fields that are not declared; undefined if they are not allowed. */
  readonly element: Type | undefined;
  readonly atomic: boolean;
}

/** Fields by name. */
export type StructFields = Pick<ReadonlyMap<string, StructField>, 'get' | 'has' | 'size'>;

export interface StructField {
  readonly type: Type;
  readonly default: JsonValue | undefined;
  readonly element: PathElement;
}

function recursiveType({ atomic, listElement }: { atomic: boolean; listElement?: Type }): Type {
  const type: { scalar: Scalar; list?: ListType; map?: MapType } = { scalar: 'untyped' };
  type.list = { element: listElement ?? type, atomic: true, keys: [] };
  type.map = { fields: new Map(), element: type, atomic };
  return type;
}

/** Accepts any value and treats it as atomic. */
export const UNTYPED: Type = recursiveType({ atomic: true });

/** Accepts any value: maps are merged key by key, lists are atomic. */
export const DEDUCED: Type = recursiveType({ atomic: false, listElement: UNTYPED });
