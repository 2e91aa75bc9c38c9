import type { JsonValue } from '../../apimachinery/json/json.js';
import { PathElement } from '../fieldpath/path-element.js';

/** What a scalar may be; `untyped` takes any. */
export type Scalar = 'numeric' | 'string' | 'boolean' | 'untyped';

/**
 * A type: which of scalar, list and map a value may be, and how lists and maps merge. Types refer to each other directly, also in
 * circles, and are not changed once made. A type with none of the three takes no value.
 */
export interface Type {
  readonly scalar?: Scalar | undefined;
  readonly list?: ListType | undefined;
  readonly map?: MapType | undefined;
}

export interface ListType {
  readonly element: Type;
  /** The list is one value, with one owner. */
  readonly atomic: boolean;
  /** For a list that is not atomic: the fields that identify an item. None: the list is a set of scalars. */
  readonly keys: readonly string[];
}

export interface MapType {
  readonly fields: StructFields;
  /** The type of fields that are not declared; undefined: there are none. */
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

function recursiveType(atomic: boolean, listElement: Type | undefined): Type {
  const type: { scalar: Scalar; list?: ListType; map?: MapType } = { scalar: 'untyped' };
  type.list = { element: listElement ?? type, atomic: true, keys: [] };
  type.map = { fields: new Map(), element: type, atomic };
  return type;
}

/** Takes anything, as one value. */
export const UNTYPED: Type = recursiveType(true, undefined);

/** Takes anything: maps merge key by key, lists are one value. */
export const DEDUCED: Type = recursiveType(false, UNTYPED);

export function structField(name: string, type: Type, defaultValue: JsonValue | undefined): StructField {
  return { type, default: defaultValue, element: PathElement.field(name) };
}
