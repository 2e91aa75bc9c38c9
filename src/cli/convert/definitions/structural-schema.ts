import { FieldPath } from '../../../apimachinery/meta/field-error.js';
import { deepEqual, isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { structuralError, validateStructural } from '../../../schema/structural.js';
import { type Notes, Refusal } from '../conversion.js';
import { child, isEmpty, isUnset, take } from '../fields.js';

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const INT_OR_STRING = 'x-kubernetes-int-or-string';
const EMBEDDED = 'x-kubernetes-embedded-resource';
const LOGIC = ['allOf', 'anyOf', 'oneOf'];

const EITHER = [{ type: 'integer' }, { type: 'string' }];
const OBJECTS = ['properties', 'additionalProperties'];
const ROOT_TYPES: Readonly<Record<string, string>> = { apiVersion: 'string', kind: 'string', metadata: 'object' };

/** Makes a v1beta1 schema structural, as v1 requires, without changing what it accepts if possible. */
class Structural {
  /** The number of places where a type had to be assumed. */
  assumed = 0;

  constructor(
    /** True if the server kept fields that the schema does not name. */
    private readonly preserves: boolean,
    private readonly notes: Notes,
  ) {}

  root(schema: JsonObject, path: string): void {
    if (isEmpty(schema['type'])) schema['type'] = 'object';
    const { properties } = schema;
    if (isObject(properties)) {
      for (const [key, type] of Object.entries(ROOT_TYPES)) {
        const property = properties[key];
        if (isObject(property) && isEmpty(property['type'])) property['type'] = type;
      }
    }
    this.part(schema, path, true);
  }

  private part(schema: JsonObject, path: string, isRoot: boolean): void {
    if (schema[PRESERVE] === false) take(schema, PRESERVE);
    if (schema['uniqueItems'] === true)
      this.notes.lose(
        `${path}.uniqueItems has no equivalent in v1 (x-kubernetes-list-type: set is similar, for scalars)`,
      );
    take(schema, 'uniqueItems');
    this.setType(schema);
    const isClosed = this.openAdditional(schema, path);
    this.logic(schema, path);
    if (schema['type'] === 'array' && !isObject(schema['items']) && !Array.isArray(schema['items']))
      schema['items'] = { [PRESERVE]: true };
    this.preserve(schema, isClosed);
    for (const [key, property] of Object.entries(isObject(schema['properties']) ? schema['properties'] : {})) {
      const at = `${path}.properties[${key}]`;
      if (!isObject(property)) throw new Refusal(`${at} must be an object`);
      // The server validates the metadata of an object, whatever the schema says.
      if (key === 'metadata' && (isRoot || schema[EMBEDDED] === true)) continue;
      this.part(property, at, false);
    }
    for (const key of ['items', 'additionalProperties']) {
      const inner = schema[key];
      if (isObject(inner)) this.part(inner, child(path, key), false);
    }
  }

  private setType(schema: JsonObject): void {
    if (!isEmpty(schema['type'])) return;
    take(schema, 'type');
    if (schema[INT_OR_STRING] === true || schema['$ref'] !== undefined) return;
    if (OBJECTS.some((key) => !isUnset(schema[key]))) schema['type'] = 'object';
    else if (!isUnset(schema['items'])) schema['type'] = 'array';
    else {
      for (const key of ['anyOf', 'oneOf']) {
        const parts = schema[key];
        if (!Array.isArray(parts) || parts.length !== 2) continue;
        const isEither = EITHER.every((one) => parts.some((part) => deepEqual(part, one)));
        if (!isEither) continue;
        schema[INT_OR_STRING] = true;
        take(schema, key);
        return;
      }
      // Any value was accepted, and still is.
      schema[PRESERVE] = true;
      return;
    }
    this.assumed++;
  }

  /** Removes values of additionalProperties that v1 does not allow. Returns true if the schema rejected fields that it does not name. */
  private openAdditional(schema: JsonObject, path: string): boolean {
    const additional = schema['additionalProperties'];
    if (additional === false) {
      this.notes.lose(`${path}.additionalProperties may not be false in v1, which drops unknown fields instead`);
      take(schema, 'additionalProperties');
      return true;
    }
    const hasProperties = !isEmpty(schema['properties']);
    const takesAll = additional === true || (isObject(additional) && isEmpty(additional));
    if (takesAll && hasProperties) {
      take(schema, 'additionalProperties');
      schema[PRESERVE] = true;
    }
    return false;
  }

  private preserve(schema: JsonObject, isClosed: boolean): void {
    if (!this.preserves || isClosed || schema['type'] !== 'object' || !isUnset(schema['additionalProperties'])) return;
    if (schema[INT_OR_STRING] !== true) schema[PRESERVE] = true;
  }

  /** v1 forbids types within logical parts; a type that only repeats the outer one is redundant. */
  private logic(schema: JsonObject, path: string): void {
    const parts: (readonly [JsonValue | undefined, string])[] = [[schema['not'], `${path}.not`]];
    for (const key of LOGIC) {
      const list = schema[key];
      if (Array.isArray(list)) list.forEach((part, i) => parts.push([part, `${path}.${key}[${String(i)}]`]));
    }
    for (const [part] of parts) if (isObject(part)) this.branch(part, schema);
  }

  private branch(part: JsonObject, outer: JsonObject): void {
    for (const key of ['description', 'title']) take(part, key);
    if (part['type'] === outer['type'] && outer['nullable'] !== true) take(part, 'type');
    for (const key of LOGIC) {
      const list = part[key];
      if (Array.isArray(list)) for (const one of list) if (isObject(one)) this.branch(one, outer);
    }
    if (isObject(part['not'])) this.branch(part['not'], outer);
    if (!isObject(part['properties'])) return;
    if (!isObject(outer['properties'])) outer['properties'] = {};
    const { properties } = outer;
    for (const [key, inner] of Object.entries(part['properties'])) {
      if (isUnset(properties[key]) && this.preserves) properties[key] = { [PRESERVE]: true };
      const known = properties[key];
      if (isObject(inner) && isObject(known)) this.branch(inner, known);
    }
  }
}

/** Converts a v1beta1 schema in place. Throws a Refusal if no structural schema is equivalent. */
export function makeStructural(schema: JsonObject, path: string, preserves: boolean, notes: Notes): void {
  const work = new Structural(preserves, notes);
  work.root(schema, path);
  const unreadable = structuralError(schema);
  if (unreadable !== undefined) throw new Refusal(`${path} is not structural, which v1 requires: ${unreadable}`);
  const [error] = validateStructural(schema, FieldPath.empty);
  if (error !== undefined) throw new Refusal(`${path} is not structural, which v1 requires: ${error.toString()}`);
  if (work.assumed > 0) {
    const places = work.assumed === 1 ? '1 place' : `${String(work.assumed)} places`;
    notes.warn(`${path}: type was missing at ${places} with properties or items; it is now object or array`);
  }
}
