import { type JsonObject, type JsonValue, isObject } from '../../apimachinery/json/json.js';
import { type PathNode, type SliceNode, JsonPathError, parseJsonPath } from './json-path-parser.js';

/** The maximum number of results; bounded because nested recursive descents would multiply them. */
const MAX_RESULTS = 10_000;
/**
 * The maximum number of values that all steps of a path visit: some 5 ms. The author of a definition writes the path and another user the
 * object, and the work may be their product: `{..a..b}` visits the values below each value.
 */
const MAX_VISITS = 200_000;

/** Counts the values that a path may still visit. */
class Budget {
  constructor(
    private left: number = MAX_VISITS,
    readonly maxResults: number = MAX_RESULTS,
  ) {}

  spend(visits: number): void {
    this.left -= visits;
    if (this.left < 0) throw new JsonPathError('too many values to visit');
  }
}

/** A compiled path, as in printer columns: `.spec.list[*].name`, `.status.conditions[?(@.type=="Ready")].status`. */
export class JsonPath {
  private readonly groups: readonly (readonly PathNode[])[];

  /** Throws a JsonPathError for a malformed path. */
  constructor(text: string) {
    this.groups = parseJsonPath(text);
  }

  /**
   * Returns all values that the path leads to; none if there is none or the path does not fit the object. Unbounded, for programs whose user
   * wrote the path.
   */
  all(value: JsonValue): readonly JsonValue[] {
    try {
      const budget = new Budget(Infinity, Infinity);
      return this.groups.flatMap((nodes) => follow([value], nodes, budget));
    } catch (error) {
      if (error instanceof JsonPathError) return [];
      throw error;
    }
  }

  /** Returns the first value that the path leads to; undefined if there is none or the path does not fit the object. */
  first(object: JsonObject): JsonValue | undefined {
    try {
      // Follow all parts: an error in a later one invalidates the result of the first one, too.
      const budget = new Budget();
      const results = this.groups.map((nodes) => follow([object], nodes, budget));
      return results[0]?.[0];
    } catch (error) {
      if (error instanceof JsonPathError) return undefined;
      throw error;
    }
  }
}

function follow(values: readonly JsonValue[], nodes: readonly PathNode[], budget: Budget): readonly JsonValue[] {
  let current = values;
  for (const node of nodes) {
    budget.spend(1 + current.length);
    current = step(current, node, budget);
    if (current.length > budget.maxResults) throw new JsonPathError('too many results');
  }
  return current;
}

function step(values: readonly JsonValue[], node: PathNode, budget: Budget): readonly JsonValue[] {
  switch (node.kind) {
    case 'field':
      return values.flatMap((value) => member(value, node.name));
    case 'slice':
      return slices(values, node, budget);
    case 'wildcard':
      return values.flatMap((value) => {
        const below = children(value);
        budget.spend(below.length);
        return below;
      });
    case 'recursive':
      return values.flatMap((value) => descend(value, budget));
    case 'union':
      return node.alternatives.flatMap((alternative) => follow(values, alternative, budget));
    case 'filter':
      return values.flatMap((value) => filter(value, node, budget));
    case 'text':
      return [node.value];
    case 'literal':
      return values.map(() => node.value);
    case 'identifier':
      throw new JsonPathError(`unrecognized identifier ${node.name}`);
  }
}

function member(value: JsonValue, name: string): JsonValue[] {
  if (!isObject(value) || !Object.hasOwn(value, name)) return [];
  const found = value[name];
  return found === undefined ? [] : [found];
}

function children(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) return [];
  return Object.values(value).filter((child) => child !== undefined);
}

/** Returns the value and all its descendants that have children, outer ones first. */
function descend(value: JsonValue, budget: Budget): JsonValue[] {
  const found: JsonValue[] = [];
  const visit = (one: JsonValue): void => {
    const below = children(one);
    if (below.length === 0) return;
    budget.spend(1 + below.length);
    found.push(one);
    for (const child of below) visit(child);
  };
  visit(value);
  return found;
}

function slices(values: readonly JsonValue[], node: SliceNode, budget: Budget): JsonValue[] {
  const results: JsonValue[] = [];
  for (const value of values) {
    if (value === null) continue;
    if (!Array.isArray(value)) throw new JsonPathError('not an array');
    const { length } = value;
    let from = node.from ?? 0;
    if (from < 0) from += length;
    let to = node.to ?? length;
    if (to < 0 || (to === 0 && node.derived)) to += length;
    // An empty slice ends the whole step.
    if (from === to) return results;
    if (from >= length || from < 0) throw new JsonPathError('array index out of bounds');
    if (to > length || to < 0) throw new JsonPathError('array index out of bounds');
    if (from > to) throw new JsonPathError('starting index is greater than ending index');
    const by = node.step ?? 1;
    if (by <= 0) throw new JsonPathError('step must be > 0');
    budget.spend(Math.ceil((to - from) / by));
    for (let i = from; i < to; i += by) results.push(value[i] as JsonValue);
  }
  return results;
}

function filter(value: JsonValue, node: Extract<PathNode, { kind: 'filter' }>, budget: Budget): JsonValue[] {
  if (!Array.isArray(value)) throw new JsonPathError('not an array and cannot be filtered');
  return value.filter((item) => {
    if (node.operator === 'exists') return exists(item, node.left, budget);
    const left = follow([item], node.left, budget);
    if (left.length === 0) return false;
    if (left.length > 1) throw new JsonPathError('can only compare one element at a time');
    const right = follow([item], node.right, budget);
    if (right.length === 0) return false;
    if (right.length > 1) throw new JsonPathError('can only compare one element at a time');
    return compare(left[0] as JsonValue, right[0] as JsonValue, node.operator);
  });
}

function exists(item: JsonValue, path: readonly PathNode[], budget: Budget): boolean {
  try {
    return follow([item], path, budget).length > 0;
  } catch (error) {
    if (error instanceof JsonPathError) return false;
    throw error;
  }
}

/** Returns Go's kind of a comparable value. Integers and floats do not compare with each other. */
function comparableKind(value: JsonValue): string {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))) return 'int';
  if (typeof value === 'number') return 'float';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value;
  throw new JsonPathError('invalid type for comparison');
}

function compare(left: JsonValue, right: JsonValue, operator: string): boolean {
  const kind = comparableKind(left);
  if (comparableKind(right) !== kind) throw new JsonPathError('incompatible types for comparison');
  const equal = left == right;
  const ordered = (): boolean => {
    if (kind === 'boolean') throw new JsonPathError('invalid type for comparison');
    return (left as string | number) < (right as string | number);
  };
  switch (operator) {
    case '==':
      return equal;
    case '!=':
      return !equal;
    case '<':
      return ordered();
    case '<=':
      return ordered() || equal;
    case '>':
      return !ordered() && !equal;
    case '>=':
      return !ordered();
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}
