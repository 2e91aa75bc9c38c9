import { decodeDetailed } from './decode.js';
import { keepFloats, noteFloats, withFloats } from './float.js';
import { goFormat, goTypeName } from './go-format.js';
import { deepCopy, deepEqual, FACTS, Float, isObject, type JsonObject } from './json.js';
import { goJson } from '../meta/meta.js';

function decoded(text: string): JsonObject {
  const { value, floats } = decodeDetailed(text, { strict: false });
  if (floats !== undefined) noteFloats(value as JsonObject, floats);
  return value as JsonObject;
}

const TEXT = '{"metadata":{"generation":1.0},"spec":{"a":1.0,"b":[2,{"c":3e0}],"d":1.5,"e":4},"status":{"a":-0.0}}';

test('validation sees Floats, and the stored object has plain numbers', () => {
  const object = decoded(TEXT);
  expect(JSON.stringify(object)).toBe(
    '{"metadata":{"generation":1},"spec":{"a":1,"b":[2,{"c":3}],"d":1.5,"e":4},"status":{"a":0}}',
  );
  const judged = withFloats(object);
  expect(judged).not.toBe(object);
  expect(judged).toEqual({
    metadata: { generation: 1 },
    spec: { a: new Float(1), b: [2, { c: new Float(3) }], d: 1.5, e: 4 },
    status: { a: new Float(-0) },
  });
  expect(deepEqual(judged['spec'], object['spec'])).toBe(false);
});

test('an object without whole floats is returned itself', () => {
  for (const text of ['{"spec":{"a":1,"d":1.5,"e":1e300}}', '{"metadata":{"generation":1.0}}']) {
    const object = decoded(text);
    expect(withFloats(object)).toBe(object);
  }
});

test('copies keep their floats, except in fields not kept and in changed values', () => {
  const object = decoded(TEXT);
  const copy = deepCopy(object);
  keepFloats(copy, (field) => field === 'spec');
  (copy['spec'] as JsonObject)['a'] = 'x';
  expect(withFloats(copy)).toEqual({
    ...copy,
    [FACTS]: undefined,
    spec: { a: 'x', b: [2, { c: new Float(3) }], d: 1.5, e: 4 },
  });
});

test('floats are printed as Go prints them', () => {
  const judged = withFloats(decoded('{"a":1e6,"b":-0.0,"c":[1.0]}'));
  expect(goFormat(judged)).toBe('map[a:1e+06 b:-0 c:[1]]');
  expect(goJson(judged)).toBe('{"a":1000000,"b":-0,"c":[1]}');
  expect(goTypeName(judged['a'])).toBe('float64');
});

test('a Float is not an object, and equals only Floats', () => {
  const judged = withFloats(decoded('{"a":1.0,"b":1e0,"c":2.0}'));
  expect(isObject(judged['a'])).toBe(false);
  expect(deepEqual(judged['a'], judged['b'])).toBe(true);
  for (const other of [judged['c'], 1, {}]) expect(deepEqual(judged['a'], other)).toBe(false);
});

test('an integer beyond 2^53 equals no float, unless integers are compared as floats', () => {
  const big = 2n ** 53n + 1n;
  expect([deepEqual(big, 2 ** 53), deepEqual({ a: [2 ** 53] }, { a: [2n ** 53n] }), deepEqual(1n, 1)]).toEqual([
    false,
    false,
    true,
  ]);
  expect([
    deepEqual(big, 2 ** 53, 'as floats'),
    deepEqual({ a: [2 ** 53] }, { a: [big] }, 'as floats'),
    deepEqual(big, big - 1n, 'as floats'),
    deepEqual(big, '1', 'as floats'),
  ]).toEqual([true, true, false, false]);
});
