import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { rulesOf } from './rule.js';

/** Finds the parts of a schema that contain rules, including those only inside allOf. Visits each part once. */
export class RuleLocator {
  private readonly known = new Map<JsonObject, boolean>();

  has(schema: JsonValue | undefined): boolean {
    if (!isObject(schema)) return false;
    let found = this.known.get(schema);
    if (found === undefined) {
      found = this.look(schema);
      this.known.set(schema, found);
    }
    return found;
  }

  private look(schema: JsonObject): boolean {
    if (rulesOf(schema).length > 0 || this.has(schema['items']) || this.has(schema['additionalProperties']))
      return true;
    const { allOf, properties } = schema;
    if (Array.isArray(allOf) && allOf.some((part) => this.has(part))) return true;
    if (!isObject(properties)) return false;
    for (const key in properties) if (this.has(properties[key])) return true;
    return false;
  }
}
