import { Float, isObject, type JsonObject, type JsonValue, textOf } from '../apimachinery/json/json.js';
import { formatCheckFor, supportedFormat } from './formats/formats.js';
import type { JsonSchemaProps } from './interfaces.js';
import { type NumericRules, compileNumeric } from './numeric.js';
import { type Pattern, patternFor } from '@annex/cel/re2';

/** The kinds of JSON values, as bits, as Go's decoder of unstructured objects distinguishes them. */
export const STRING = 1;
export const INTEGER = 2;
/** A number with a fraction, or beyond 64 bits, or whose text had a fraction or an exponent. */
export const FLOAT = 4;
export const BOOLEAN = 8;
const ARRAY = 16;
export const OBJECT = 32;

const MIN_INT64 = -(1n << 63n);
const MAX_INT64 = (1n << 63n) - 1n;

/** Returns the kind of a value that is not null. */
export function kindOf(value: JsonValue): number {
  switch (typeof value) {
    case 'string':
      return STRING;
    case 'number':
      return Number.isSafeInteger(value) ? INTEGER : FLOAT;
    case 'bigint':
      return value >= MIN_INT64 && value <= MAX_INT64 ? INTEGER : FLOAT;
    case 'boolean':
      return BOOLEAN;
    default:
      if (value instanceof Float) return FLOAT;
      return Array.isArray(value) ? ARRAY : OBJECT;
  }
}

/** The JSON type and Go's format of each kind, as error texts name them. */
const KIND_NAMES: Readonly<Record<number, readonly [string, string]>> = {
  [STRING]: ['string', ''],
  [INTEGER]: ['integer', 'int64'],
  [FLOAT]: ['number', 'float64'],
  [BOOLEAN]: ['boolean', ''],
  [ARRAY]: ['array', ''],
  [OBJECT]: ['object', ''],
};

export interface LengthRules {
  readonly min: number | undefined;
  /** `min` with all its digits. */
  readonly minText: string;
  readonly max: number | undefined;
}

export interface LogicRules {
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly allOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
}

/** One property of an object together with its node. */
export interface NamedNode {
  readonly key: string;
  readonly node: SchemaNode;
}

const INT_OR_STRING = ['integer', 'string'];
const TYPE_LISTS: ReadonlyMap<string, readonly string[]> = new Map(
  ['', 'string', 'integer', 'number', 'boolean', 'array', 'object'].map((type) => [type, type === '' ? [] : [type]]),
);
const NO_CHILDREN: readonly NamedNode[] = [];

/** The role of a value: a whole object, or a part of one that counts as an object only if the schema marks it as embedded. */
export type Role = 'resource' | 'part';

/** The maximum nesting depth of a schema. Deeper ones are rejected when the definition is validated. */
export const MAX_SCHEMA_DEPTH = 500;

export class SchemaTooDeepError extends Error {
  override readonly name = 'SchemaTooDeepError';
  constructor() {
    super(`schema must not nest deeper than ${String(MAX_SCHEMA_DEPTH)} levels`);
  }
}

/**
 * One level of a schema, prepared for the walks over objects. All nodes have the same fields in the same order, so that the walks
 * stay monomorphic. Rules that most nodes lack are in separate objects, which are undefined if absent.
 */
export class SchemaNode {
  readonly types: readonly string[];
  readonly nullable: boolean;
  readonly format: string;
  /** True if there is a type or format to check. */
  readonly typed: boolean;
  /** The kinds that pass the type check. */
  readonly accepts: number;
  readonly formatCheck: ((text: string) => boolean) | undefined;
  readonly length: LengthRules | undefined;
  readonly pattern: Pattern | undefined;
  readonly numeric: NumericRules | undefined;
  readonly enumeration: readonly JsonValue[] | undefined;
  readonly enumStrings: ReadonlySet<string> | undefined;
  readonly logic: LogicRules | undefined;
  readonly items: SchemaNode | undefined;
  readonly itemCount: LengthRules | undefined;
  readonly properties: ReadonlyMap<string, SchemaNode> | undefined;
  /** The schema of additional properties, or whether they are allowed at all; undefined if unspecified. */
  readonly additional: SchemaNode | boolean | undefined;
  readonly required: readonly string[];
  readonly propertyCount: LengthRules | undefined;

  readonly preserve: boolean;
  readonly embedded: boolean;
  readonly listType: string;
  readonly listMapKeys: readonly string[];
  /** The default; undefined if there is none. A default of null counts as none. */
  readonly defaultValue: JsonValue | undefined;

  /** Properties that have a default. */
  readonly defaulted: readonly NamedNode[];
  /** Properties below which there are defaults. */
  readonly defaultsBelow: readonly NamedNode[];
  readonly hasDefaults: boolean;
  readonly listTypesBelow: readonly NamedNode[];
  readonly hasListTypes: boolean;
  readonly embeddedBelow: readonly NamedNode[];
  readonly hasEmbedded: boolean;
  readonly hasRules: boolean;

  constructor(schema: JsonSchemaProps, options: NodeOptions = {}) {
    const { depth = 0, bare = false, prebuilt } = options;
    if (depth > MAX_SCHEMA_DEPTH) throw new SchemaTooDeepError();
    const sub = (value: JsonValue | undefined): SchemaNode | undefined =>
      isObject(value)
        ? (prebuilt?.nodes.get(value) ?? new SchemaNode(value, { depth: depth + 1, bare, prebuilt }))
        : undefined;
    const type = textOf(schema['type']);
    const intOrString = schema['x-kubernetes-int-or-string'] === true;
    this.types = intOrString && !bare ? INT_OR_STRING : (TYPE_LISTS.get(type) ?? [type]);
    this.nullable = schema['nullable'] === true;
    this.format = bare ? textOf(schema['format']) : supportedFormat(this.types, textOf(schema['format']));
    this.typed = this.types.length > 0 || this.format !== '';
    this.accepts = acceptedKinds(this.types, this.format);
    this.formatCheck = formatCheckFor(this.format);
    this.length = lengths(schema, 'minLength', 'maxLength');
    const pattern = textOf(schema['pattern']);
    this.pattern = pattern === '' ? undefined : patternFor(pattern);
    this.numeric = compileNumeric(schema, this.types, this.format);
    const enumeration = schema['enum'];
    this.enumeration = Array.isArray(enumeration) && enumeration.length > 0 ? enumeration : undefined;
    this.enumStrings = this.enumeration && new Set(this.enumeration.filter((value) => typeof value === 'string'));
    this.logic = compileLogic(schema, sub);
    this.items = sub(schema['items']);
    this.itemCount = lengths(schema, 'minItems', 'maxItems');
    this.properties = prebuilt?.properties.get(schema) ?? compileProperties(schema['properties'], sub);
    const additional = schema['additionalProperties'];
    this.additional = typeof additional === 'boolean' ? additional : sub(additional);
    this.required = stringsOf(schema['required']);
    this.propertyCount = lengths(schema, 'minProperties', 'maxProperties');

    this.preserve = schema['x-kubernetes-preserve-unknown-fields'] === true;
    this.embedded = schema['x-kubernetes-embedded-resource'] === true;
    this.listType = textOf(schema['x-kubernetes-list-type']);
    this.listMapKeys = stringsOf(schema['x-kubernetes-list-map-keys']);
    this.defaultValue = schema['default'] ?? undefined;

    const { items } = this;
    const others = [items, typeof this.additional === 'object' ? this.additional : undefined];
    const below = summarizeProperties(this.properties);
    this.defaulted = below.defaulted;
    this.defaultsBelow = below.defaultsBelow;
    this.hasDefaults =
      this.defaulted.length > 0 ||
      this.defaultsBelow.length > 0 ||
      others.some((node) => node !== undefined && (node.defaultValue !== undefined || node.hasDefaults));
    this.listTypesBelow = below.listTypes;
    this.hasListTypes =
      this.listType === 'set' ||
      this.listType === 'map' ||
      this.listTypesBelow.length > 0 ||
      others.some((node) => node?.hasListTypes === true);
    this.embeddedBelow = below.embedded;
    this.hasEmbedded =
      this.embedded || this.embeddedBelow.length > 0 || others.some((node) => node?.hasEmbedded === true);
    const rules = schema['x-kubernetes-validations'];
    this.hasRules =
      (Array.isArray(rules) && rules.length > 0) || below.hasRules || others.some((node) => node?.hasRules === true);
  }
}

/** Returns the expected and the found type of a type error. */
export function typeFault(node: SchemaNode, kind: number): readonly [expected: string, found: string] {
  const [type, format] = KIND_NAMES[kind] ?? ['', ''];
  if (kind !== STRING && kind !== ARRAY && node.format !== '' && !matchesType(node.types, node.format, type, format)) {
    return [node.format, format];
  }
  return [node.types.join(','), type];
}

function matchesType(types: readonly string[], wanted: string, type: string, format: string): boolean {
  return types.includes(type) || format === wanted || (type === 'integer' && types.includes('number'));
}

/** Returns the accepted kinds by kube-apiserver's rules: a format alone accepts strings and, by an oddity, arrays. */
function acceptedKinds(types: readonly string[], format: string): number {
  const masks = format === '' ? PLAIN_MASKS : undefined;
  const known = masks?.get(types);
  if (known !== undefined) return known;
  const mask = computeKinds(types, format);
  masks?.set(types, mask);
  return mask;
}

const PLAIN_MASKS = new WeakMap<readonly string[], number>();

function computeKinds(types: readonly string[], format: string): number {
  let mask = 0;
  const numbers = types.includes('number') || types.includes('integer');
  for (const kind of [STRING, INTEGER, FLOAT, BOOLEAN, ARRAY, OBJECT]) {
    const [type, kindFormat] = KIND_NAMES[kind] ?? ['', ''];
    const textual = kind === STRING || kind === ARRAY;
    let fits = types.includes(type) || (type === 'integer' && types.includes('number'));
    if (!textual && format !== '' && !matchesType(types, format, type, kindFormat)) fits = false;
    if (textual && format !== '' && !numbers) fits = true;
    if (fits || (types.length === 0 && format === '')) mask |= kind;
  }
  return mask;
}

const NO_STRINGS: readonly string[] = [];

function stringsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : NO_STRINGS;
}

function lengths(schema: JsonObject, minKey: string, maxKey: string): LengthRules | undefined {
  const least = schema[minKey];
  const min = countOf(least);
  const max = countOf(schema[maxKey]);
  const minText = typeof least === 'bigint' ? least.toString() : String(min);
  return min === undefined && max === undefined ? undefined : { min, minText, max };
}

function countOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
}

const LOGIC_KEYS = ['anyOf', 'oneOf', 'allOf', 'not'];

type Sub = (value: JsonValue | undefined) => SchemaNode | undefined;

function compileLogic(schema: JsonObject, sub: Sub): LogicRules | undefined {
  if (LOGIC_KEYS.every((key) => schema[key] === undefined)) return undefined;
  const list = (key: string): readonly SchemaNode[] => {
    const value = schema[key];
    return Array.isArray(value) ? value.map((item) => sub(item) ?? EMPTY_NODE) : [];
  };
  const logic = { anyOf: list('anyOf'), oneOf: list('oneOf'), allOf: list('allOf'), not: sub(schema['not']) };
  const none =
    logic.anyOf.length === 0 && logic.oneOf.length === 0 && logic.allOf.length === 0 && logic.not === undefined;
  return none ? undefined : logic;
}

function compileProperties(value: JsonValue | undefined, sub: Sub): ReadonlyMap<string, SchemaNode> | undefined {
  if (!isObject(value)) return undefined;
  const map = new Map<string, SchemaNode>();
  for (const key in value) map.set(key, sub(value[key]) ?? EMPTY_NODE);
  return map.size === 0 ? undefined : map;
}

interface NodeOptions {
  readonly depth?: number;
  /** Set for validating defaults, where int-or-string implies no type, and unsupported formats are not filtered out. */
  readonly bare?: boolean;
  readonly prebuilt?: PrebuiltNodes | undefined;
}

/** The nodes already built for parts of a schema. */
export interface PrebuiltNodes {
  readonly nodes: ReadonlyMap<JsonSchemaProps, SchemaNode>;
  /** The properties of parts that have many of them. */
  readonly properties: ReadonlyMap<JsonSchemaProps, ReadonlyMap<string, SchemaNode>>;
}

interface PropertySummary {
  readonly defaulted: readonly NamedNode[];
  readonly defaultsBelow: readonly NamedNode[];
  readonly listTypes: readonly NamedNode[];
  readonly embedded: readonly NamedNode[];
  readonly hasRules: boolean;
}

const EMPTY_SUMMARY: PropertySummary = {
  defaulted: NO_CHILDREN,
  defaultsBelow: NO_CHILDREN,
  listTypes: NO_CHILDREN,
  embedded: NO_CHILDREN,
  hasRules: false,
};

/** Collects the properties that matter beyond validation. */
function summarizeProperties(properties: ReadonlyMap<string, SchemaNode> | undefined): PropertySummary {
  if (properties === undefined) return EMPTY_SUMMARY;
  const defaulted: NamedNode[] = [];
  const defaultsBelow: NamedNode[] = [];
  const listTypes: NamedNode[] = [];
  const embedded: NamedNode[] = [];
  let hasRules = false;
  for (const [key, node] of properties) {
    if (node.defaultValue !== undefined) defaulted.push({ key, node });
    if (node.hasDefaults) defaultsBelow.push({ key, node });
    if (node.hasListTypes) listTypes.push({ key, node });
    if (node.hasEmbedded) embedded.push({ key, node });
    if (node.hasRules) hasRules = true;
  }
  return { defaulted, defaultsBelow, listTypes, embedded, hasRules };
}

/** A node without constraints. */
export const EMPTY_NODE: SchemaNode = new SchemaNode({});
