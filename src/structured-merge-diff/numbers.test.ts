import { type JsonObject, type JsonValue, stringifyJson } from '../apimachinery/json/json.js';
import { customResourceType } from './schema/custom-resource.js';
import { FieldSet } from './fieldpath/field-set.js';
import { PathElement } from './fieldpath/path-element.js';
import { readFieldsV1, toFieldsV1 } from './fieldpath/serialize.js';
import { compare } from './compare.js';
import { mergeValues } from './merge.js';
import { toFieldSet } from './to-field-set.js';
import { Updater } from './updater.js';
import { validateValue } from './validate.js';

const BIG = 2n ** 53n;
const FLOAT = 2 ** 53;

const number = { type: 'number' };
const type = customResourceType({
  type: 'object',
  properties: {
    leaf: number,
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: number },
    map: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: { type: 'object', properties: { k: number, v: number } },
    },
  },
});

const values = (...items: JsonValue[]): FieldSet => FieldSet.ofPaths(items.map((item) => [PathElement.value(item)]));
const read = (...texts: string[]): FieldSet => readFieldsV1(Object.fromEntries(texts.map((text) => [text, {}]))).set;
const written = (set: FieldSet): string[] => Object.keys(toFieldsV1(set));

describe('numbers in serialized sets are floats', () => {
  test.each([
    ['v:9007199254740993', 'v:9007199254740992'],
    ['v:9223372036854775807', 'v:9223372036854776000'],
    ['v:-9007199254740993', 'v:-9007199254740992'],
    ['v:1.0', 'v:1'],
    ['v:-0', 'v:-0'],
    ['v:1e300', 'v:1e+300'],
    ['k:{"k":1152921504606846977}', 'k:{"k":1152921504606847000}'],
    ['k:{"k":-0.0}', 'k:{"k":-0}'],
  ])('%s', (given, out) => {
    expect(written(read(given))).toEqual([out]);
  });

  test('a value keeps all its digits', () => {
    expect(written(values(BIG, BIG + 1n, -0, 2 ** 64))).toEqual([
      'v:-0',
      'v:9007199254740992',
      'v:9007199254740993',
      'v:18446744073709552000',
    ]);
  });
});

describe('an integer beyond 2^53 beside a float', () => {
  test('is owned by the owner of the float', () => {
    const set = read('v:9007199254740993');
    expect([BIG - 1n, BIG, BIG + 1n, BIG + 2n].map((value) => set.has([PathElement.value(value)]))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(set.has([PathElement.value(0)])).toBe(false);
    expect(read('v:-0').has([PathElement.value(0)])).toBe(true);
  });

  test('is not equal to the next integer', () => {
    expect(values(BIG).has([PathElement.value(BIG + 1n)])).toBe(false);
  });

  test('a union takes the digits of the second set', () => {
    expect(written(values(BIG + 1n).union(read('v:9007199254740992')))).toEqual(['v:9007199254740992']);
    expect(written(read('v:9007199254740992').union(values(BIG + 1n)))).toEqual(['v:9007199254740993']);
    expect(written(values(0).union(values(-0)))).toEqual(['v:-0']);
  });

  test('the first of two integers that are equal to one float matches it', () => {
    const both = values(BIG, BIG + 1n);
    expect(written(both.intersection(read('v:9007199254740992')))).toEqual(['v:9007199254740992']);
    expect(written(both.difference(read('v:9007199254740992')))).toEqual(['v:9007199254740993']);
  });

  test('the sets are equal', () => {
    expect(values(BIG + 1n).equals(read('v:9007199254740993'))).toBe(true);
    expect(values(BIG + 1n).equals(values(BIG))).toBe(false);
  });
});

describe('equal items in different notations', () => {
  const duplicates = (object: JsonObject): string[] => {
    try {
      validateValue(type, object, 'unique');
      return [];
    } catch (error) {
      return [String(error)];
    }
  };

  test.each<[JsonValue, JsonValue, boolean]>([
    [0, -0, true],
    [BIG, FLOAT, true],
    [BIG + 1n, FLOAT, true],
    [FLOAT, BIG + 1n, true],
    [BIG, BIG + 1n, false],
    [FLOAT, FLOAT + 2, false],
    [1, 1.5, false],
  ])('%p and %p', (a, b, same) => {
    expect(duplicates({ set: [a, b] })).toHaveLength(same ? 1 : 0);
    expect(duplicates({ map: [{ k: a }, { k: b }] })).toHaveLength(same ? 1 : 0);
    const merged = mergeValues(type, { set: [a] }, { set: [b] }) as { set: JsonValue[] };
    expect(merged.set).toHaveLength(same ? 1 : 2);
    const change = compare(type, { set: [a] }, { set: [b] });
    expect([change.removed.isEmpty, change.added.isEmpty]).toEqual([same, same]);
    expect(compare(type, { leaf: a }, { leaf: b }).modified.isEmpty).toBe(same);
  });

  test('an error names the last one', () => {
    expect(duplicates({ set: [BIG, 5, FLOAT * 2, FLOAT] })[0]).toContain(
      '.set: duplicate entries for key [=9.007199254740992e+15]',
    );
  });

  test('a merge takes the notation of the configuration', () => {
    const merged = mergeValues(type, { map: [{ k: BIG + 1n, v: 1 }] }, { map: [{ k: FLOAT }] });
    expect(stringifyJson(merged ?? null)).toBe('{"map":[{"k":9007199254740992,"v":1}]}');
  });

  test('a field set takes the notation of the first one', () => {
    expect(toFieldSet(type, { set: [-0, 0, BIG, FLOAT] }).toString()).toBe('.set[=0]\n.set[=9007199254740992]');
  });
});

test('a configuration that differs only in number notation changes nothing', () => {
  const updater = new Updater(
    (value) => value,
    () => undefined,
  );
  const typed = (value: JsonValue): { version: string; type: typeof type; value: JsonValue } => ({
    version: 'v1',
    type,
    value,
  });
  const apply = (live: JsonObject, config: JsonObject): unknown =>
    updater.apply(typed(live), typed(config), new Map(), 'a', false).value?.value;
  expect(apply({ leaf: BIG + 1n }, { leaf: FLOAT })).toBeUndefined();
  expect(apply({ map: [{ k: BIG + 1n, v: 0 }] }, { map: [{ k: FLOAT, v: -0 }] })).toBeUndefined();
  expect(apply({ leaf: BIG + 1n }, { leaf: BIG })).toEqual({ leaf: BIG });
});
