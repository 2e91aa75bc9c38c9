import {
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  stringAt,
  stringsOf,
} from '../../apimachinery/json/json.js';
import { PathElement } from '../fieldpath/path-element.js';
import {
  DEDUCED,
  type ListType,
  type MapType,
  type Scalar,
  type StructField,
  type StructFields,
  type Type,
  UNTYPED,
} from './schema.js';

/** A type under construction, so that types can refer to each other in cycles. */
interface MutableType {
  scalar?: Scalar | undefined;
  list?: ListType | undefined;
  map?: MapType | undefined;
}

/** Types that JSON schemas do not describe structurally: quantities are numbers or strings, raw extensions are anything. */
const SPECIAL: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['io.k8s.apimachinery.pkg.api.resource.Quantity', { scalar: 'untyped' }],
  ['io.k8s.apimachinery.pkg.runtime.RawExtension', UNTYPED],
]);

/** The fields of a struct, each built on first use: schemas have thousands, most objects only a few. */
class LazyFields implements StructFields {
  private readonly made = new Map<string, StructField>();
  readonly size: number;

  constructor(
    private readonly properties: JsonObject,
    private readonly make: (property: JsonObject) => Type,
  ) {
    let size = 0;
    for (const name in properties) if (isObject(properties[name])) size++;
    this.size = size;
  }

  get(name: string): StructField | undefined {
    return this.made.get(name) ?? this.add(name);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.properties, name) && isObject(this.properties[name]);
  }

  private add(name: string): StructField | undefined {
    if (!Object.hasOwn(this.properties, name)) return undefined;
    const property = this.properties[name];
    if (!isObject(property)) return undefined;
    const element = PathElement.field(name);
    const field = { type: this.make(property), default: property['default'], element };
    this.made.set(name, field);
    return field;
  }
}

/** The maximum nesting of a schema. */
const MAX_SCHEMA_DEPTH = 500;

/** Builds types from JSON schemas that may refer to each other by name. */
export class TypeBuilder {
  private readonly named = new Map<string, Type>();
  private readonly overridden = new Map<string, Type>();

  /** `components`: schemas by name, as in `components.schemas` of OpenAPI v3. */
  constructor(
    private readonly components: Readonly<Record<string, JsonValue | undefined>> = {},
    /** Properties that embedded resources have in addition to their schema. */
    private readonly resourceProperties: JsonObject = {},
  ) {}

  /** Returns the type of a component, or undefined if it does not exist. */
  component(name: string): Type | undefined {
    const known = this.named.get(name) ?? SPECIAL.get(name);
    if (known !== undefined) return known;
    const schema = Object.hasOwn(this.components, name) ? this.components[name] : undefined;
    if (!isObject(schema)) return undefined;
    const type: MutableType = {};
    this.named.set(name, type);
    Object.assign(type, this.inline(schema));
    return type;
  }

  /** Returns the type of a schema. `preserve`: unknown fields of maps are preserved, here and below. */
  inline(schema: JsonObject, preserve = false, depth = 0): Type {
    if (depth > MAX_SCHEMA_DEPTH) throw new Error('the schema is nested too deeply');
    const keep = preserve || schema['x-kubernetes-preserve-unknown-fields'] === true;
    switch (stringAt(schema, 'type') ?? '') {
      case '':
        return { scalar: 'untyped', list: this.list(schema, keep, depth), map: this.map(schema, keep, depth) };
      case 'object':
        return { map: this.map(schema, keep, depth) };
      case 'array':
        return { list: this.list(schema, keep, depth) };
      case 'integer':
      case 'number':
        return { scalar: 'numeric' };
      case 'boolean':
        return { scalar: 'boolean' };
      case 'string': {
        const format = stringAt(schema, 'format') ?? '';
        return { scalar: format === '' || format === 'byte' ? 'string' : 'untyped' };
      }
      default:
        return { scalar: 'untyped' };
    }
  }

  private reference(schema: JsonObject, preserve: boolean, depth: number): Type {
    const name = referenceOf(schema);
    if (name === undefined) return this.inline(schema, preserve, depth + 1);
    const type = this.component(name) ?? {};
    const atomic = mapRelationship(schema);
    return atomic === undefined ? type : this.override(name, type, atomic);
  }

  /** A reference may override whether the map or list that it refers to is atomic. */
  private override(name: string, type: Type, atomic: boolean): Type {
    const key = `${name} ${String(atomic)}`;
    const known = this.overridden.get(key);
    if (known !== undefined) return known;
    const { map, list } = type;
    const out: MutableType = { ...type };
    if (map !== undefined) out.map = { ...map, atomic };
    else if (list !== undefined) out.list = { ...list, atomic };
    this.overridden.set(key, out);
    return out;
  }

  private map(schema: JsonObject, preserve: boolean, depth: number): MapType {
    const given = objectAt(schema, 'properties') ?? {};
    const embedded = schema['x-kubernetes-embedded-resource'] === true;
    const properties = embedded ? { ...given, ...this.resourceProperties } : given;
    const fields = new LazyFields(properties, (property) => this.reference(property, preserve, depth));
    return {
      fields,
      element: this.elementOf(schema, fields.size, preserve, depth),
      atomic: mapRelationship(schema) === true,
    };
  }

  private elementOf(schema: JsonObject, properties: number, preserve: boolean, depth: number): Type | undefined {
    const additional = schema['additionalProperties'];
    if (additional === undefined) return preserve || properties === 0 ? DEDUCED : undefined;
    if (isObject(additional)) return this.reference(additional, preserve, depth);
    return additional === true ? DEDUCED : undefined;
  }

  private list(schema: JsonObject, preserve: boolean, depth: number): ListType {
    const items = objectAt(schema, 'items');
    const element = items === undefined ? UNTYPED : this.reference(items, preserve, depth);
    const keys = listKeys(schema);
    return { element, atomic: keys === undefined, keys: keys ?? [] };
  }
}

/** Returns the name of the component that a schema refers to, directly or through an `allOf` with one element. */
function referenceOf(schema: JsonObject): string | undefined {
  const allOf = schema['allOf'];
  const only = Array.isArray(allOf) && allOf.length === 1 ? allOf[0] : undefined;
  const reference = stringAt(schema, '$ref') ?? (isObject(only) ? stringAt(only, '$ref') : undefined);
  return reference?.slice(reference.lastIndexOf('/') + 1);
}

/** Reports whether a map is atomic; undefined if the schema does not specify it. */
function mapRelationship(schema: JsonObject): boolean | undefined {
  const type = schema['x-kubernetes-map-type'];
  return type === 'atomic' ? true : type === 'granular' ? false : undefined;
}

/** Returns the keys of a list's items, which are empty for a set; undefined if the list is atomic. */
function listKeys(schema: JsonObject): readonly string[] | undefined {
  const type = stringAt(schema, 'x-kubernetes-list-type');
  if (type !== undefined) {
    if (type === 'set') return [];
    if (type !== 'map') return undefined;
    return stringsOf(schema['x-kubernetes-list-map-keys']);
  }
  const strategy = stringAt(schema, 'x-kubernetes-patch-strategy');
  if (strategy !== 'merge' && strategy !== 'merge,retainKeys') return undefined;
  const key = stringAt(schema, 'x-kubernetes-patch-merge-key');
  return key === undefined ? [] : [key];
}
