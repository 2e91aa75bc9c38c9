import { Printed } from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, type JsonValue, isObject } from '../../../apimachinery/json/json.js';
import { compareUtf8, goJson } from '../../../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../../../apimachinery/scheme/empty-members.js';
import type { JsonSchemaProps } from '../../../schema/interfaces.js';
import type { InternalSpec, InternalValidation, InternalVersion } from './internal.js';

/**
 * Prints kube-apiserver's internal structs as JSON, which some errors show as the bad value: members have the names of Go's fields
 * and the order of the struct, and none is omitted.
 */
type Print = (value: JsonValue | undefined) => string;

const plain: Print = (value) => goJson(value ?? null);
const text: Print = (value) => goJson(value ?? '');
const flag: Print = (value) => goJson(value ?? false);
const list: Print = (value) => (Array.isArray(value) ? goJson(value) : 'null');
const schemaPointer: Print = (value) => (isObject(value) ? schemaJson(value) : 'null');
const schemas: Print = (value) =>
  Array.isArray(value) ? `[${value.map((item) => schemaPointer(item)).join(',')}]` : 'null';

function mapOf(print: Print): Print {
  return (value) => {
    if (!isObject(value)) return 'null';
    const keys = Object.keys(value).sort(compareUtf8);
    return `{${keys.map((key) => `${goJson(key)}:${print(value[key])}`).join(',')}}`;
  };
}

const schemaOrBool: Print = (value) => {
  if (value === undefined || value === null) return 'null';
  return `{"Allows":${goJson(value !== false)},"Schema":${schemaPointer(value)}}`;
};

const schemaOrArray: Print = (value) => {
  if (value === undefined || value === null) return 'null';
  return Array.isArray(value)
    ? `{"Schema":null,"JSONSchemas":${schemas(value)}}`
    : `{"Schema":${schemaPointer(value)},"JSONSchemas":null}`;
};

const dependency: Print = (value) =>
  Array.isArray(value)
    ? `{"Schema":null,"Property":${list(value)}}`
    : `{"Schema":${schemaPointer(value)},"Property":null}`;

const documentation: Print = (value) =>
  isObject(value) ? `{"Description":${text(value['description'])},"URL":${text(value['url'])}}` : 'null';

const rules: Print = (value) =>
  Array.isArray(value) ? `[${value.map((rule) => ruleJson(isObject(rule) ? rule : {})).join(',')}]` : 'null';

/** Returns a schema with the members that were given although they are empty. */
function asGiven(schema: JsonObject): JsonObject {
  const empty = emptyMembersOf(schema);
  return empty === undefined ? schema : { ...schema, ...empty };
}

type Field = readonly [name: string, key: string, print: Print];

const SCHEMA_FIELDS: readonly Field[] = [
  ['ID', 'id', text],
  ['Schema', '$schema', text],
  ['Ref', '$ref', plain],
  ['Description', 'description', text],
  ['Type', 'type', text],
  ['Nullable', 'nullable', flag],
  ['Format', 'format', text],
  ['Title', 'title', text],
  ['Default', 'default', plain],
  ['Maximum', 'maximum', plain],
  ['ExclusiveMaximum', 'exclusiveMaximum', flag],
  ['Minimum', 'minimum', plain],
  ['ExclusiveMinimum', 'exclusiveMinimum', flag],
  ['MaxLength', 'maxLength', plain],
  ['MinLength', 'minLength', plain],
  ['Pattern', 'pattern', text],
  ['MaxItems', 'maxItems', plain],
  ['MinItems', 'minItems', plain],
  ['UniqueItems', 'uniqueItems', flag],
  ['MultipleOf', 'multipleOf', plain],
  ['Enum', 'enum', list],
  ['MaxProperties', 'maxProperties', plain],
  ['MinProperties', 'minProperties', plain],
  ['Required', 'required', list],
  ['Items', 'items', schemaOrArray],
  ['AllOf', 'allOf', schemas],
  ['OneOf', 'oneOf', schemas],
  ['AnyOf', 'anyOf', schemas],
  ['Not', 'not', schemaPointer],
  ['Properties', 'properties', mapOf((value) => schemaPointer(value))],
  ['AdditionalProperties', 'additionalProperties', schemaOrBool],
  ['PatternProperties', 'patternProperties', mapOf((value) => schemaPointer(value))],
  ['Dependencies', 'dependencies', mapOf(dependency)],
  ['AdditionalItems', 'additionalItems', schemaOrBool],
  ['Definitions', 'definitions', mapOf((value) => schemaPointer(value))],
  ['ExternalDocs', 'externalDocs', documentation],
  ['Example', 'example', plain],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', plain],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', flag],
  ['XIntOrString', 'x-kubernetes-int-or-string', flag],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', list],
  ['XListType', 'x-kubernetes-list-type', plain],
  ['XMapType', 'x-kubernetes-map-type', plain],
  ['XValidations', 'x-kubernetes-validations', rules],
];

const RULE_FIELDS: readonly Field[] = [
  ['Rule', 'rule', text],
  ['Message', 'message', text],
  ['MessageExpression', 'messageExpression', text],
  ['Reason', 'reason', plain],
  ['FieldPath', 'fieldPath', text],
  ['OptionalOldSelf', 'optionalOldSelf', plain],
];

const COLUMN_FIELDS: readonly Field[] = [
  ['Name', 'name', text],
  ['Type', 'type', text],
  ['Format', 'format', text],
  ['Description', 'description', text],
  ['Priority', 'priority', (value) => goJson(value ?? 0)],
  ['JSONPath', 'jsonPath', text],
];

const SCALE_FIELDS: readonly Field[] = [
  ['SpecReplicasPath', 'specReplicasPath', text],
  ['StatusReplicasPath', 'statusReplicasPath', text],
  ['LabelSelectorPath', 'labelSelectorPath', plain],
];

function struct(value: JsonObject, fields: readonly Field[]): string {
  return `{${fields.map(([name, key, print]) => `"${name}":${print(value[key])}`).join(',')}}`;
}

const schemaJson = (schema: JsonObject): string => struct(asGiven(schema), SCHEMA_FIELDS);
const ruleJson = (rule: JsonObject): string => struct(rule, RULE_FIELDS);

/** Returns Go's names of the members that are set in a schema, in the order of the struct. */
export function setFieldNames(schema: JsonSchemaProps): string[] {
  const given = asGiven(schema);
  return SCHEMA_FIELDS.filter(([name, key]) => {
    const value = given[key];
    if (value === undefined || value === null) return false;
    // A pointer is set whatever it points to.
    if (POINTERS.has(name) || typeof value === 'number' || typeof value === 'bigint') return true;
    return typeof value === 'object' || (value !== '' && value !== false);
  }).map(([name]) => name);
}

const POINTERS = new Set([
  'Ref',
  'Default',
  'Example',
  'Items',
  'Not',
  'AdditionalProperties',
  'AdditionalItems',
  'ExternalDocs',
  'XPreserveUnknownFields',
  'XListType',
  'XMapType',
]);

export const printSchema = (schema: JsonSchemaProps): Printed => new Printed(schemaJson(schema));

/** Prints the `items` of a schema. */
export const printItems = (items: JsonValue | undefined): Printed => new Printed(schemaOrArray(items));

function validationJson(validation: InternalValidation | undefined): string {
  return validation === undefined ? 'null' : `{"OpenAPIV3Schema":${schemaPointer(validation.schema)}}`;
}

function subresourcesJson(subresources: JsonObject | undefined): string {
  if (subresources === undefined) return 'null';
  const { status, scale } = subresources;
  const scaleJson = isObject(scale) ? struct(scale, SCALE_FIELDS) : 'null';
  return `{"Status":${isObject(status) ? '{}' : 'null'},"Scale":${scaleJson}}`;
}

function listOf(values: readonly JsonObject[], fields: readonly Field[]): string {
  return values.length === 0 ? 'null' : `[${values.map((value) => struct(value, fields)).join(',')}]`;
}

function versionJson(version: InternalVersion): string {
  const members = [
    `"Name":${goJson(version.name)}`,
    `"Served":${goJson(version.served)}`,
    `"Storage":${goJson(version.storage)}`,
    `"Deprecated":${goJson(version.deprecated)}`,
    `"DeprecationWarning":${goJson(version.deprecationWarning ?? null)}`,
    `"Schema":${validationJson(version.validation)}`,
    `"Subresources":${subresourcesJson(version.subresources)}`,
    `"AdditionalPrinterColumns":${listOf(version.additionalPrinterColumns, COLUMN_FIELDS)}`,
    `"SelectableFields":${listOf(version.selectableFields, [['JSONPath', 'jsonPath', text]])}`,
  ];
  return `{${members.join(',')}}`;
}

export const printVersions = (spec: InternalSpec): Printed =>
  new Printed(spec.hasVersions ? `[${spec.versions.map(versionJson).join(',')}]` : 'null');
