import { Environment, fn, method, overload, types } from '../../packages/cel/src/index.js';
import { OPTIONAL_LIBRARY } from '../../packages/cel/src/library/optional.js';
import { STRINGS_LIBRARY } from '../../packages/cel/src/library/strings.js';
import { TWO_VARIABLE_LIBRARY } from '../../packages/cel/src/library/extensions.js';
import { needsMessages } from './exceptions.js';
import { CHECKING, COMPREHENSIONS, CONFORMANCE, PARSING, type Vector } from './vectors.js';

const environment = Environment.create({
  libraries: [
    OPTIONAL_LIBRARY,
    TWO_VARIABLE_LIBRARY,
    STRINGS_LIBRARY,
    // The checker's own tests declare these functions and the variables below.
    {
      functions: [
        fn(
          'fg_s',
          overload('fg_s_0', [], types.STRING, () => ''),
        ),
        fn(
          'fi_s_s',
          method('fi_s_s_0', [types.STRING], types.STRING, (text) => text),
        ),
      ],
    },
  ],
  optionalSyntax: true,
  escapedFields: true,
  variables: [
    { name: 'is', type: types.STRING },
    { name: 'ii', type: types.INT },
    { name: 'iu', type: types.UINT },
    { name: 'iz', type: types.BOOL },
    { name: 'ib', type: types.BYTES },
    { name: 'id', type: types.DOUBLE },
    { name: 'ix', type: types.NULL },
  ],
});

/** Returns the vectors whose type the reference implementation recorded without variables or a container. */
const typed = (vectors: readonly Vector[]): readonly Vector[] =>
  vectors.filter(
    (vector) =>
      vector.type !== undefined &&
      vector.typeEnv === undefined &&
      vector.container === undefined &&
      !needsMessages(vector),
  );

function problem(vector: Vector): string | undefined {
  const { program, failure } = environment.compile(vector.expr);
  const found = failure === undefined ? program.outputType.toString() : failure.text;
  return found === vector.type ? undefined : `${vector.expr}\n    ${found}\n    not ${String(vector.type)}`;
}

describe('types found by the reference implementation', () => {
  test.each([
    ['checking', CHECKING],
    ['parsing', PARSING],
    ['conformance', CONFORMANCE],
  ])('%s', (_, vectors) => {
    const cases = typed(vectors);
    expect(cases.length).toBeGreaterThan(10);
    expect(cases.map(problem).filter((text) => text !== undefined)).toEqual([]);
  });

  /** Names that exist only in the test environments of the reference implementation. */
  const ELSEWHERE =
    /TestAllTypes|google\.|proto|NotAMessage|cel\.bind|upperAscii|lowerAscii|reverse\(|\.format\(|\bx\.|^\s*optional/;

  /** An environment without variables or extensions, for the messages. */
  const plain = Environment.create({ libraries: [], escapedFields: true, crossTypeComparisons: false });

  test.each([
    ['checking', CHECKING],
    ['comprehensions', COMPREHENSIONS],
    ['parsing', PARSING],
  ])('the error messages of %s', (_, vectors) => {
    const cases = vectors.filter(
      ({ error, expr }) => error?.startsWith('ERROR: <input>') === true && !ELSEWHERE.test(error + expr),
    );
    expect(cases.length).toBeGreaterThan(10);
    const wrong = cases.filter(({ expr, error }) => plain.compile(expr).failure?.text !== error);
    expect(
      wrong.map(({ expr, error }) => `${expr}\n${String(plain.compile(expr).failure?.text)}\nnot ${String(error)}`),
    ).toEqual([]);
  });
});
