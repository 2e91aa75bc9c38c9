import { type JsonObject, type JsonValue, isObject } from '../apimachinery/json/json.js';
import { SCHEMA_STEP_PARTS, SCHEMA_STEP_PROPERTIES } from '../scheduling/thresholds.js';
import type { JsonSchemaProps } from './interfaces.js';
import { EMPTY_NODE, type PrebuiltNodes, MAX_SCHEMA_DEPTH, SchemaNode, SchemaTooDeepError } from './node.js';

const SINGLE = ['items', 'additionalProperties', 'not'];
const LISTS = ['allOf', 'anyOf', 'oneOf'];

/** Returns all parts of a schema, each after its parent, and yields after every SCHEMA_STEP_PARTS parts. */
export function* partsOf(schema: JsonSchemaProps): Generator<undefined, readonly JsonSchemaProps[]> {
  const parts = [schema];
  let depth = 0;
  let levelEnds = 1;
  for (let i = 0; i < parts.length; i++) {
    if (i === levelEnds) {
      levelEnds = parts.length;
      if (++depth > MAX_SCHEMA_DEPTH) throw new SchemaTooDeepError();
    }
    if (i % SCHEMA_STEP_PARTS === SCHEMA_STEP_PARTS - 1) yield;
    yield* addParts(parts[i] ?? {}, parts);
  }
  return parts;
}

function* addParts(schema: JsonObject, parts: JsonObject[]): Generator<undefined, void> {
  const add = (value: JsonValue | undefined): void => {
    if (isObject(value)) parts.push(value);
  };
  for (const key of SINGLE) add(schema[key]);
  for (const key of LISTS) {
    const list = schema[key];
    if (Array.isArray(list)) list.forEach(add);
  }
  for (const batch of batchesOf(schema)) {
    for (const property of batch) add(property);
    if (batch.length === SCHEMA_STEP_PROPERTIES) yield;
  }
}

/** Yields the schemas of a part's properties in batches. */
export function* batchesOf({ properties }: JsonSchemaProps): Generator<readonly (JsonValue | undefined)[], void> {
  if (!isObject(properties)) return;
  const keys = Object.keys(properties);
  for (let from = 0; from < keys.length; from += SCHEMA_STEP_PROPERTIES)
    yield keys.slice(from, from + SCHEMA_STEP_PROPERTIES).map((key) => properties[key]);
}

/** Builds the nodes of all parts of a schema in steps, inner parts first. */
export function* buildNodesInSteps(schema: JsonSchemaProps): Generator<undefined, PrebuiltNodes> {
  const parts = yield* partsOf(schema);
  const nodes = new Map<JsonSchemaProps, SchemaNode>();
  const properties = new Map<JsonSchemaProps, ReadonlyMap<string, SchemaNode>>();
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i] ?? {};
    const many = yield* manyProperties(part, nodes);
    if (many !== undefined) properties.set(part, many);
    nodes.set(part, new SchemaNode(part, { prebuilt: { nodes, properties } }));
    if (i % SCHEMA_STEP_PARTS === 0) yield;
  }
  return { nodes, properties };
}

function* manyProperties(
  { properties }: JsonSchemaProps,
  nodes: ReadonlyMap<JsonSchemaProps, SchemaNode>,
): Generator<undefined, ReadonlyMap<string, SchemaNode> | undefined> {
  if (!isObject(properties)) return undefined;
  const keys = Object.keys(properties);
  if (keys.length < SCHEMA_STEP_PROPERTIES) return undefined;
  const made = new Map<string, SchemaNode>();
  for (const [i, key] of keys.entries()) {
    const property = properties[key];
    made.set(key, (isObject(property) ? nodes.get(property) : undefined) ?? EMPTY_NODE);
    if (i % SCHEMA_STEP_PROPERTIES === SCHEMA_STEP_PROPERTIES - 1) yield;
  }
  return made;
}
