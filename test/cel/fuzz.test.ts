import fc from 'fast-check';
import type { Type, Value } from '../../packages/cel/src/index.js';
import {
  ArrayList,
  Double,
  Duration,
  EntryMap,
  Environment,
  Timestamp,
  Uint,
  kubernetesEnvironment,
  types,
} from '../../packages/cel/src/index.js';
import { isDyn } from '../../packages/cel/src/types.js';
import { isOfType } from '../../packages/cel/src/evaluator/calls.js';
import { OPTIONAL_LIBRARY } from '../../packages/cel/src/library/optional.js';
import { STRINGS_LIBRARY } from '../../packages/cel/src/library/strings.js';
import { debris, expressions, type Kind, VARIABLES } from './grammar.js';
import { notation, secondOpinion } from './second-opinion.js';

const TYPES: Readonly<Record<Kind, Type>> = {
  int: types.INT,
  uint: types.UINT,
  double: types.DOUBLE,
  string: types.STRING,
  bool: types.BOOL,
  bytes: types.BYTES,
  duration: types.DURATION,
  timestamp: types.TIMESTAMP,
  ints: types.listOf(types.INT),
  strings: types.listOf(types.STRING),
  map: types.mapOf(types.STRING, types.INT),
};

const variables = Object.entries(VARIABLES).map(([name, kind]) => ({ name, type: TYPES[kind] }));
const kubernetes = kubernetesEnvironment('new').extend(variables);
/** The language according to its specification. */
const language = Environment.create({
  libraries: [OPTIONAL_LIBRARY, STRINGS_LIBRARY],
  optionalSyntax: true,
  dialect: { uniqueKeys: true, strictPresence: true, eagerConstants: false },
  variables,
});

const basicPlane = fc.integer({ min: 0, max: 0xd7ff }).map((code) => String.fromCharCode(code));
const int: fc.Arbitrary<number | bigint> = fc.oneof(
  fc.integer({ min: -5, max: 12 }),
  fc.constantFrom(2n ** 63n - 1n, 1n - 2n ** 63n, Number.MAX_SAFE_INTEGER),
);
/** The second engine counts UTF-16 units, and takes the year 17 for 1917. */
const text = fc.oneof(
  fc.constantFrom('', 'a', 'abc', '12', 'ünï', 'x,y'),
  fc.string({ unit: basicPlane, maxLength: 6 }),
);
const seconds = fc.integer({ min: -30_000_000_000, max: 253_402_300_799 });
const bindings: fc.Arbitrary<Record<string, Value>> = fc.record({
  i: int,
  j: int,
  u: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => new Uint(value)),
  d: fc.double().map((value) => new Double(value)),
  s: text,
  t: text,
  b: fc.boolean(),
  y: fc.uint8Array({ maxLength: 5 }),
  du: fc.constant(new Duration(90_000_000_000n)),
  ts: seconds.map((value) => new Timestamp(value, 0)),
  li: fc.array(int, { maxLength: 5 }).map((items) => new ArrayList(items)),
  ls: fc.array(text, { maxLength: 5 }).map((items) => new ArrayList(items)),
  m: fc.dictionary(fc.constantFrom('a', 'b', 'c'), int, { maxKeys: 3 }).map((entries) => {
    const map = new EntryMap();
    for (const [key, value] of Object.entries(entries)) map.insert(key, value);
    return map;
  }),
});

const LIMIT = 50_000;
const RUNS = Number(process.env['CEL_FUZZ_RUNS'] ?? 500);

/** Evaluates a source that compiles: nothing throws, evaluation ends, and the value is of the announced type. */
function exercise(environment: Environment, source: string, values: Record<string, Value>): void {
  const { program, failure } = environment.compile(source);
  if (failure !== undefined) {
    expect(failure.text).toMatch(/^ERROR: <input>:/);
    return;
  }
  const outcome = program.evaluate(values, LIMIT);
  expect(outcome.cost).toBeGreaterThanOrEqual(0);
  expect(Number.isInteger(outcome.cost)).toBe(true);
  if (outcome.kind === 'limit') expect(outcome.cost).toBeGreaterThan(LIMIT);
  if (outcome.kind === 'value') expect([source, isOfType(outcome.value, program.outputType)]).toEqual([source, true]);
  expect(program.evaluate(values, LIMIT)).toEqual(outcome);
}

const DOUBLES = /\bd\b|double\(|\.\d|\de/;

/** The reference implementation compares integers beyond 2^53 with doubles as doubles, the second engine exactly. */
function mayCompareRounded(source: string, values: Record<string, Value>): boolean {
  return DOUBLES.test(source) && [source, ...Object.values(values).map(notation)].some((text) => /\d{16}/.test(text));
}

describe('expressions shaped by the grammar', () => {
  test('compile to their declared type, and evaluate to it', () => {
    fc.assert(
      fc.property(expressions({ own: true }), bindings, ({ kind, source }, values) => {
        const { program, failure } = kubernetes.compile(source);
        if (failure !== undefined) expect([source, mayBeRefused(source, failure.text)]).toEqual([source, true]);
        else expect(isSame(program.outputType, TYPES[kind])).toBe(true);
        exercise(kubernetes, source, values);
      }),
      { numRuns: RUNS },
    );
  });

  test('with parts of wrong types are refused or fail, and never break the engine', () => {
    fc.assert(
      fc.property(expressions({ own: true, slips: true }), bindings, ({ source }, values) => {
        exercise(kubernetes, source, values);
      }),
      { numRuns: RUNS },
    );
  });

  test('evaluate to the result of the second engine', () => {
    fc.assert(
      fc.property(expressions(), bindings, ({ source }, values) => {
        const { program, failure } = language.compile(source);
        if (failure !== undefined) {
          expect([source, mayBeRefused(source, failure.text)]).toEqual([source, true]);
          return;
        }
        const outcome = program.evaluate(values, LIMIT * 10);
        // The reference implementation refuses to order NaN; in the specification the comparison is false.
        if (outcome.kind === 'error' && outcome.message.startsWith('NaN')) return;
        const ours = outcome.kind === 'value' ? notation(outcome.value) : outcome.kind;
        const theirs = secondOpinion(source, values);
        if (ours !== theirs && mayCompareRounded(source, values)) return;
        expect([source, ours]).toEqual([source, theirs]);
      }),
      { numRuns: RUNS },
    );
  });
});

test('debris is refused with a message, or is a valid expression', () => {
  fc.assert(
    fc.property(debris, (source) => {
      exercise(kubernetes, source, {});
    }),
    { numRuns: RUNS },
  );
});

test('any text is refused with a message, or is a valid expression', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (source) => {
      exercise(kubernetes, source, {});
    }),
    { numRuns: RUNS },
  );
});

/** True for literals that are visibly wrong, and for empty lists and maps: an element taken from one has the first type that fits. */
const mayBeRefused = (source: string, text: string): boolean =>
  /\[\]|\{\}/.test(source) || /invalid \w+ argument|format/.test(text);

/** An element taken from an empty list or map is of type dyn. */
const isSame = (found: Type, wanted: Type): boolean => found.kind === wanted.kind || isDyn(found);
