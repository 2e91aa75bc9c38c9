import { escapeIdentifier, unescapeIdentifier } from '@annex/cel';
import { isObject, type JsonObject, objectAt, objectsOf, textAt } from '../../apimachinery/json/json.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { Resource } from './discovery.js';

const STEP = String.raw`\.\??[A-Za-z_]\w*|\[\??(?:\d+|'[^']*'|"[^"]*")\]`;
/** A path at the end of a text: a variable and what is selected from it. */
const PATH_AT_END = new RegExp(String.raw`(?<![\w.])([A-Za-z_]\w*)((?:${STEP})*)$`);
const MACRO = /\.(?:all|exists|exists_one|existsOne|filter|map|transformList)\(\s*(\w+)\s*,/g;
const MAX_DEPTH = 8;

/** A field, as an expression writes it, and its schema. */
interface Field {
  readonly name: string;
  readonly schema: JsonObject;
}

/** The fields that expressions over the objects of a type may name, from its OpenAPI document. */
export class Fields {
  constructor(
    private readonly root: JsonObject,
    private readonly schemas: JsonObject,
  ) {}

  /** Returns undefined if the server publishes no schema of the type. */
  static async load(client: Pick<ClusterClient, 'exchange'>, resource: Resource): Promise<Fields | undefined> {
    const { group, version, kind } = resource;
    const path = `/openapi/v3/${group === '' ? 'api' : `apis/${group}`}/${version}`;
    const { status, body } = await client.exchange({ method: 'GET', path });
    const schemas = objectAt(objectAt(body, 'components'), 'schemas');
    if (status !== 200 || schemas === undefined) return undefined;
    const root = Object.values(schemas).find(
      (schema) =>
        isObject(schema) &&
        objectsOf(schema['x-kubernetes-group-version-kind']).some(
          (one) => textAt(one, 'group') === group && textAt(one, 'version') === version && textAt(one, 'kind') === kind,
        ),
    );
    return isObject(root) ? new Fields(root, schemas) : undefined;
  }

  /** Returns the fields of what the path at the end of a text leads to; undefined if that is not known. */
  below(text: string): readonly Field[] | undefined {
    const schema = this.at(text);
    return schema === undefined ? undefined : this.fieldsOf(schema);
  }

  /** Returns the shortest path from the object to a field of this name, without lists; undefined if there is none. */
  pathTo(name: string): string | undefined {
    let level: { readonly path: string; readonly schema: JsonObject }[] = [{ path: 'object', schema: this.root }];
    for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
      const below = level.flatMap(({ path, schema }) =>
        this.fieldsOf(schema).map((field) => ({ path: `${path}.${field.name}`, ...field })),
      );
      const found = below.find((field) => field.name === name);
      if (found !== undefined) return found.path;
      level = below.slice(0, 10_000);
    }
    return undefined;
  }

  private at(given: string): JsonObject | undefined {
    const text = given.replaceAll(/\.orValue\([^()]*\)/g, '');
    const match = PATH_AT_END.exec(text);
    if (match === null) return undefined;
    const [, variable = '', steps = ''] = match;
    let schema = variable === 'object' ? this.root : this.elementOf(variable, text.slice(0, match.index));
    for (const [step] of steps.matchAll(new RegExp(STEP, 'g'))) schema &&= this.step(schema, step);
    return schema;
  }

  /** Returns the schema of a variable of a macro around the end of a text: an item of the list that the macro is about. */
  private elementOf(variable: string, text: string): JsonObject | undefined {
    const binding = [...text.matchAll(MACRO)].reverse().find(([, name]) => name === variable);
    const list = binding && this.at(text.slice(0, binding.index));
    return list && objectAt(this.resolved(list), 'items');
  }

  private step(schema: JsonObject, step: string): JsonObject | undefined {
    const resolved = this.resolved(schema);
    if (step.startsWith('.')) {
      const written = step.replace(/^\.\??/, '');
      const name = unescapeIdentifier(written) ?? written;
      return objectAt(objectAt(resolved, 'properties'), name) ?? objectAt(resolved, 'additionalProperties');
    }
    return objectAt(resolved, 'items') ?? objectAt(resolved, 'additionalProperties');
  }

  private fieldsOf(schema: JsonObject): readonly Field[] {
    const properties = objectAt(this.resolved(schema), 'properties') ?? {};
    return Object.entries(properties).flatMap(([key, below]) => {
      // What has no name that an expression could write cannot be meant.
      const name = escapeIdentifier(key);
      return name !== undefined && isObject(below) ? [{ name, schema: below }] : [];
    });
  }

  private resolved(schema: JsonObject): JsonObject {
    const [first] = objectsOf(schema['allOf']);
    const reference = textAt(schema, '$ref') || textAt(first, '$ref');
    return objectAt(this.schemas, reference.slice(reference.lastIndexOf('/') + 1)) ?? schema;
  }
}
