import { type JsonObject, isObject } from '../../../apimachinery/json/json.js';
import type { JsonSchemaProps } from '../../../schema/interfaces.js';

const LISTS = ['allOf', 'anyOf', 'oneOf'];
const MAPS = ['patternProperties', 'definitions', 'dependencies'];

function visitEach(value: JsonObject[string], test: (schema: JsonSchemaProps) => boolean): boolean {
  if (Array.isArray(value)) return value.some((item) => isObject(item) && schemaHas(item, test));
  return isObject(value) && schemaHas(value, test);
}

function visitMap(value: JsonObject[string], test: (schema: JsonSchemaProps) => boolean): boolean {
  if (!isObject(value)) return false;
  for (const key in value) if (visitEach(value[key], test)) return true;
  return false;
}

/** Reports whether a test passes for the schema or one below it. Visits outer schemas first and stops at the first that passes. */
export function schemaHas(schema: JsonSchemaProps, test: (schema: JsonSchemaProps) => boolean): boolean {
  if (test(schema)) return true;
  if (visitEach(schema['items'], test)) return true;
  if (LISTS.some((key) => visitEach(schema[key], test))) return true;
  if (visitEach(schema['not'], test) || visitMap(schema['properties'], test)) return true;
  if (visitEach(schema['additionalProperties'], test) || visitEach(schema['additionalItems'], test)) return true;
  return MAPS.some((key) => visitMap(schema[key], test));
}
