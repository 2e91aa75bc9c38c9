import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DeclType, Program, Value } from '../../packages/cel/src/index.js';
import {
  AuthorizerValue,
  SchemaTypes,
  UNBOUNDED,
  adapterOf,
  estimateCost,
  kubernetesEnvironment,
  types,
} from '../../packages/cel/src/index.js';
import { walk } from '../../packages/cel/src/ast.js';
import { LIBRARIES } from '../../packages/cel/src/kubernetes.js';
import { STANDARD_FUNCTIONS } from '../../packages/cel/src/library/standard.js';
import { FieldPath } from '../../src/apimachinery/meta/field-error.js';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { PER_CALL_LIMIT, RUNTIME_BUDGET } from '../../src/expressions/limits.js';
import { compileRules } from '../../src/schema/cel/validator.js';
import { validateRuleDefinitions } from '../../src/schema/cel/definition.js';

/**
 * An expression, its value (or `error: …`), its runtime cost, and its lowest and highest estimate, all from the reference implementation;
 * then what Annex's rules for list literals add to the runtime cost: a list costs 40 instead of 10, and a constant list 40 instead of
 * nothing.
 */
type Row = readonly [string, string, number, number, number | 'unbounded', number?];

interface Table {
  readonly schema: JsonObject;
  readonly object: JsonObject;
  readonly groups: Readonly<Record<string, readonly Row[]>>;
}

const table = JSON.parse(readFileSync(resolve('test/cel/costs.json'), 'utf8')) as Table;

function declare(schema: JsonObject): { type: DeclType; compile: (source: string) => Program } {
  const registry = new SchemaTypes('selfType');
  const type = registry.declare(schema, 'part');
  if (type === undefined) throw new Error('the schema has no type');
  const environment = kubernetesEnvironment('stored').extend(
    [
      { name: 'self', type: type.type },
      { name: 'authorizer', type: types.objectType('kubernetes.authorization.Authorizer') },
    ],
    (name) => registry.struct(name),
  );
  const compile = (source: string): Program => {
    const { program, failure } = environment.compile(source);
    if (program === undefined) throw new Error(failure.text);
    return program;
  };
  return { type, compile };
}

const { type, compile } = declare(table.schema);
const self = adapterOf(table.schema)(table.object);
const bindings = (): Record<string, Value> => ({
  self,
  authorizer: new AuthorizerValue(() => ({ allowed: true, reason: 'ok' })),
});

function measure(source: string): Row {
  const program = compile(source);
  const outcome = program.evaluate(bindings(), PER_CALL_LIMIT);
  const { min, max } = estimateCost(program.expr, () => type);
  const shown = outcome.kind === 'value' ? JSON.stringify(outcome.value) : `error: ${outcome.message}`;
  return [source, shown, outcome.cost, min, max >= UNBOUNDED ? 'unbounded' : max];
}

/** `a.?b` is in the table, but its call has no overload. */
const WITHOUT_OVERLOAD: readonly string[] = ['select_optional_field'];

describe('costs', () => {
  test.each(Object.entries(table.groups))('%s', (_, rows) => {
    const expected = rows.map(([source, value, cost, min, max, more = 0]): Row => [
      source,
      value,
      cost + more,
      min,
      max,
    ]);
    expect(rows.map(([source]) => measure(source))).toEqual(expected);
  });

  test('covers every function and operator', () => {
    const used = new Set<string>();
    for (const [source] of Object.values(table.groups).flat()) {
      walk(compile(source).expr, (node) => {
        if (node.kind === 'call') for (const { id } of node.overloads ?? []) used.add(id);
      });
    }
    const functions = [...STANDARD_FUNCTIONS, ...LIBRARIES.flatMap(({ library }) => library.functions ?? [])];
    const missing = functions.flatMap(({ overloads }) => overloads.map(({ id }) => id)).filter((id) => !used.has(id));
    expect(missing).toEqual(WITHOUT_OVERLOAD);
  });

  test('a list literal of the author costs 40, a list made by a macro 10', () => {
    const cost = (source: string): number => compile(source).evaluate(bindings()).cost;
    expect(cost('[self.i].size() > 0') - cost('self.li.size() > 0')).toBe(40);
    // The list of one element, its accumulator, and the sum; plus the element.
    expect(cost('self.li.map(x, x).size() > 0') - cost('self.li.size() > 0')).toBe(5 * (10 + 1 + 1 + 1) + 1);
  });

  test('every expression runs within a limit of exactly its cost, and exceeds a lower one', () => {
    const wrong: string[] = [];
    for (const [source] of Object.values(table.groups).flat()) {
      const program = compile(source);
      const { cost, kind } = program.evaluate(bindings());
      if (program.evaluate(bindings(), cost).kind !== kind) wrong.push(`${source}: cannot pay ${cost}`);
      if (cost > 0 && program.evaluate(bindings(), cost - 1).kind !== 'limit') wrong.push(`${source}: pays less`);
    }
    expect(wrong).toEqual([]);
  });
});

/** Returns an object with a list of `count` ones. */
const ones = (count: number): JsonObject => ({ l: new Array<number>(count).fill(1), b: true, c: false });
const properties = { b: { type: 'boolean' }, c: { type: 'boolean' }, l: { type: 'array', items: { type: 'integer' } } };
/** The list size that costs exactly 1,000,000: `self.b` 2, `self.l` 2, each element 5, the result 1. */
const EDGE = 199_999;
const AT_LIMIT = 'self.b && self.l.all(x, x > 0)';

describe('limits at run time', () => {
  const rules = (...sources: string[]): JsonObject => ({
    type: 'object',
    properties,
    'x-kubernetes-validations': sources.map((rule) => ({ rule })),
  });
  const errorsOf = (schema: JsonObject, object: JsonObject): string[] =>
    (compileRules(schema, 'part')?.validate(object).errors ?? []).map(String);

  test('limits one call to a cost of 1,000,000', () => {
    const program = declare(rules()).compile(AT_LIMIT);
    const run = (count: number): unknown => {
      const { kind, cost } = program.evaluate({ self: adapterOf(rules())(ones(count)) }, PER_CALL_LIMIT);
      return { kind, over: cost > PER_CALL_LIMIT };
    };
    expect(PER_CALL_LIMIT).toBe(1_000_000);
    expect(program.evaluate({ self: adapterOf(rules())(ones(EDGE)) }, PER_CALL_LIMIT).cost).toBe(1_000_000);
    expect(run(EDGE)).toEqual({ kind: 'value', over: false });
    expect(run(EDGE + 1)).toEqual({ kind: 'limit', over: true });
    const dearer = declare(rules()).compile(`!self.c && ${AT_LIMIT.slice('self.b && '.length)}`);
    expect(dearer.evaluate({ self: adapterOf(rules())(ones(EDGE)) }, PER_CALL_LIMIT)).toMatchObject({ kind: 'limit' });
  });

  test('no operator absorbs the error of an exceeded limit', () => {
    const absorbing = 'self.l.all(x, x > 0) || true';
    expect(errorsOf(rules(absorbing, 'false'), ones(EDGE + 2))).toEqual([
      `<nil>: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${absorbing}`,
    ]);
  });

  test('limits all rules of an object together to a cost of 10,000,000', () => {
    expect(RUNTIME_BUDGET).toBe(10_000_000);
    const ten = new Array<string>(10).fill(AT_LIMIT);
    const out =
      '<nil>: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run';
    expect(errorsOf(rules(...ten), ones(EDGE))).toEqual([]);
    expect(compileRules(rules(...ten), 'part')?.validate(ones(EDGE)).budget).toBe(0);
    // Rules of no cost still run; all others do not.
    expect(errorsOf(rules(...ten, 'true'), ones(EDGE))).toEqual([]);
    expect(errorsOf(rules(...ten, 'self.b'), ones(EDGE))).toEqual([out]);
    expect(errorsOf(rules(...ten.slice(1), 'self.b', AT_LIMIT), ones(EDGE))).toEqual([out]);
  });
});

describe('limits of estimates', () => {
  const path = FieldPath.empty.child('openAPIV3Schema');
  /** A list whose rule is estimated at 2 for `self` and the result, and at 5 for each possible element. */
  const list = (maxItems: number, ...sources: string[]): JsonObject => ({
    type: 'array',
    maxItems,
    items: { type: 'integer' },
    'x-kubernetes-validations': sources.map((rule) => ({ rule })),
  });
  const errorsOf = (schema: JsonObject): string[] => {
    const { expressions, total } = validateRuleDefinitions({ type: 'object', properties: { l: schema } }, path);
    return [...expressions, ...total].map(String);
  };
  const HINT =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';
  const AT = 'openAPIV3Schema.properties[l].x-kubernetes-validations';

  test('limits the estimate of one rule to 10,000,000', () => {
    const rule = 'self.all(x, x > 0)';
    const items = (10_000_000 - 2) / 5;
    expect(Number.isInteger(items)).toBe(false);
    expect(errorsOf(list(Math.floor(items), rule))).toEqual([]);
    expect(errorsOf(list(Math.ceil(items), rule))).toEqual([
      `${AT}[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.000000x ${HINT}`,
    ]);
  });

  test('limits the estimates of all rules of a version together to 100,000,000', () => {
    const dear = new Array<string>(10).fill('self.all(x, x > 0)');
    const cheap = (count: number): string[] => new Array<string>(count).fill('self.size() > 0');
    // Ten times 9,999,997, plus threes.
    const items = 1_999_999;
    expect(errorsOf(list(items, ...dear, ...cheap(10)))).toEqual([]);
    const why = 'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    expect(errorsOf(list(items, ...dear, ...cheap(11)))).toEqual([
      ...[0, 1, 2, 3].map((i) => `${AT}[${i}].rule: ${why}`),
      `openAPIV3Schema: Forbidden: ${name} exceeds budget by factor of 1.000000x ${HINT}`,
    ]);
  });

  test('multiplies the estimate of a nested rule by the maximum number of occurrences', () => {
    const nested = (maxItems: number): JsonObject => ({
      type: 'array',
      maxItems,
      items: { type: 'string', maxLength: 10, 'x-kubernetes-validations': [{ rule: "self != 'x'" }] },
    });
    // The cost of `self` and a comparison with one letter.
    expect(errorsOf(nested(5_000_000))).toEqual([]);
    expect(errorsOf(nested(5_000_001))).toEqual([
      `openAPIV3Schema.properties[l].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.000000x ${HINT}`,
    ]);
  });
});
