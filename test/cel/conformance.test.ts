import type { Value, VariableDecl } from '../../packages/cel/src/index.js';
import {
  CelList,
  CelMap,
  Double,
  Environment,
  fn,
  overload,
  method,
  typeName,
  types,
} from '../../packages/cel/src/index.js';
import { equal } from '../../packages/cel/src/values/operators.js';
import { EXTENDED_LISTS_LIBRARY } from '../../packages/cel/src/library/lists.js';
import { OPTIONAL_LIBRARY } from '../../packages/cel/src/library/optional.js';
import { SETS_LIBRARY, TWO_VARIABLE_LIBRARY } from '../../packages/cel/src/library/extensions.js';
import { STRINGS_LIBRARY } from '../../packages/cel/src/library/strings.js';
import { exception, needsMessages } from './exceptions.js';
import { CONFORMANCE, type Vector } from './vectors.js';
import { fromWire, typeFromWire } from './wire.js';

/** Version 3 of the strings library can reverse texts; Kubernetes enables version 2. */
const REVERSE_LIBRARY = {
  functions: [
    fn(
      'reverse',
      method('string_reverse', [types.STRING], types.STRING, (text) =>
        Array.from(text as string)
          .reverse()
          .join(''),
      ),
    ),
  ],
};

const BASE = {
  libraries: [
    OPTIONAL_LIBRARY,
    TWO_VARIABLE_LIBRARY,
    STRINGS_LIBRARY,
    REVERSE_LIBRARY,
    SETS_LIBRARY,
    EXTENDED_LISTS_LIBRARY,
  ],
  optionalSyntax: true,
  escapedFields: true,
};

function environmentOf(vector: Vector): Environment {
  const variables: VariableDecl[] = [];
  const functions = [];
  for (const decl of vector.typeEnv ?? []) {
    const name = String(decl['name']);
    const ident = decl['ident'] as { type: Record<string, unknown> } | undefined;
    const type = ident === undefined ? undefined : typeFromWire(ident.type);
    if (type !== undefined) variables.push({ name, type });
    const declared = decl['function'] as { overloads: Record<string, unknown>[] } | undefined;
    for (const entry of declared?.overloads ?? []) {
      const params = ((entry['params'] ?? []) as Record<string, unknown>[]).map((param) => typeFromWire(param)!);
      const make = entry['isInstanceFunction'] === true ? method : overload;
      functions.push(
        fn(
          name,
          make(
            String(entry['overloadId']),
            params,
            typeFromWire(entry['resultType'] as Record<string, unknown>)!,
            () => null,
          ),
        ),
      );
    }
  }
  const container = vector.container ?? '';
  return Environment.create({
    ...BASE,
    libraries: [...BASE.libraries, { functions }],
    variables,
    container,
    dialect: { uniqueKeys: true, strictPresence: true, eagerConstants: false },
  });
}

/** Reports whether two values are deeply equal and of the same type. */
function same(a: Value, b: Value): boolean {
  if (a instanceof Double && b instanceof Double) return Object.is(a.value, b.value) || a.value === b.value;
  if (typeName(a) !== typeName(b)) return false;
  if (a instanceof CelList && b instanceof CelList) {
    return a.size === b.size && [...a].every((item, i) => same(item, b.get(i)));
  }
  if (a instanceof CelMap && b instanceof CelMap) {
    return a.size === b.size && a.keys().every((key) => b.find(key) !== undefined && same(a.find(key)!, b.find(key)!));
  }
  return equal(a, b) === true;
}

function run(vector: Vector): string | undefined {
  const environment = environmentOf(vector);
  const { program, failure } =
    vector.disableCheck === true ? environment.parse(vector.expr) : environment.compile(vector.expr);
  const wantsError = vector.evalError !== undefined;
  if (failure !== undefined) return wantsError ? undefined : failure.text;
  const deduced = vector.typedResult?.deducedType;
  if (deduced !== undefined) {
    const expected = typeFromWire(deduced);
    if (expected?.toString() !== program.outputType.toString())
      return `type ${program.outputType.toString()}, not ${String(expected)}`;
  }
  if (vector.checkOnly === true) return undefined;
  const bindings: Record<string, Value> = {};
  for (const [name, binding] of Object.entries(vector.bindings ?? {})) {
    if (binding.value !== undefined) bindings[name] = fromWire(binding.value)!;
  }
  const outcome = program.evaluate(bindings);
  if (outcome.kind !== 'value') return wantsError ? undefined : outcome.message;
  if (wantsError) return `a value of type ${typeName(outcome.value)} instead of an error`;
  const wire = vector.value ?? vector.typedResult?.result;
  const expected = wire === undefined ? true : fromWire(wire)!;
  return same(outcome.value, expected)
    ? undefined
    : `got ${JSON.stringify(outcome.value)}, not ${JSON.stringify(wire)}`;
}

const usable = CONFORMANCE.filter((vector) => !needsMessages(vector));

describe('conformance vectors of the language', () => {
  test('covers every vector that needs no protobuf messages', () => {
    expect({ all: CONFORMANCE.length, usable: usable.length }).toEqual({ all: 2344, usable: usable.length });
    expect(usable.length).toBeGreaterThan(1400);
  });

  for (const suite of new Set(usable.map((vector) => vector.name.split('/')[0]!))) {
    const vectors = usable.filter((vector) => vector.name.startsWith(`${suite}/`));
    test(suite, () => {
      const failures = vectors
        .filter((vector) => exception(vector) === undefined)
        .map((vector) => ({ vector, problem: run(vector) }))
        .filter(({ problem }) => problem !== undefined)
        .map(({ vector, problem }) => `${vector.name}: ${vector.expr}\n    ${String(problem)}`);
      expect(failures).toEqual([]);
    });
  }

  test('every listed exception still fails', () => {
    const passing = usable
      .filter((vector) => exception(vector) !== undefined && run(vector) === undefined)
      .map(({ name }) => name);
    expect(passing).toEqual([]);
  });
});
