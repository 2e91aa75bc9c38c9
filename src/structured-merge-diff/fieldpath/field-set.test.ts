import fc from 'fast-check';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { growth } from '../../../test/fakes/util/growth.js';
import { FieldSet } from './field-set.js';
import { PathElement } from './path-element.js';
import { readFieldsV1, toFieldsV1 } from './serialize.js';

const scalar = fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: -3, max: 12 }), fc.boolean());
const element = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '.', 'x:y', '\u{1f600}', '\uffee').map((name) => PathElement.field(name)),
  fc.tuple(scalar, scalar).map(([a, b]) => PathElement.keys(['k', 'l'], [a, b])),
  scalar.map((a) => PathElement.keys(['k'], [a])),
  scalar.map((a) => PathElement.value(a)),
  fc.nat({ max: 12 }).map((index) => PathElement.index(index)),
);
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const sets = fc.array(path, { maxLength: 12 }).map((paths) => FieldSet.ofPaths(paths));

/** Returns the members as texts: the model that the operations are checked against. */
function members(set: FieldSet): Set<string> {
  const out = new Set<string>();
  set.forEach((p) => out.add(JSON.stringify(p.map((e) => e.text))));
  return out;
}

const union = (a: Set<string>, b: Set<string>): Set<string> => new Set([...a, ...b]);
const minus = (a: Set<string>, b: Set<string>): Set<string> => new Set([...a].filter((p) => !b.has(p)));
const common = (a: Set<string>, b: Set<string>): Set<string> => new Set([...a].filter((p) => b.has(p)));
const isBelow = (p: string, top: string): boolean => p.startsWith(`${top.slice(0, -1)},`) || p === top;

describe('operations match those of sets of paths', () => {
  test.each([
    ['union', (a: FieldSet, b: FieldSet) => a.union(b), union],
    ['intersection', (a: FieldSet, b: FieldSet) => a.intersection(b), common],
    ['difference', (a: FieldSet, b: FieldSet) => a.difference(b), minus],
    [
      'recursive difference',
      (a: FieldSet, b: FieldSet) => a.recursiveDifference(b),
      (a: Set<string>, b: Set<string>) => new Set([...a].filter((p) => ![...b].some((top) => isBelow(p, top)))),
    ],
    [
      'leaves',
      (a: FieldSet) => a.leaves(),
      (a: Set<string>) => new Set([...a].filter((p) => ![...a].some((q) => q !== p && isBelow(q, p)))),
    ],
  ])('%s', (_name, operation, model) => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const result = operation(a, b);
        expect(members(result)).toEqual(model(members(a), members(b)));
        expect(result.size).toBe(members(result).size);
        expect(result.isEmpty).toBe(result.size === 0);
      }),
    );
  });

  test('an operation without effect returns the set itself', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const both = a.union(b);
        expect(both.union(a)).toBe(both);
        expect(both.intersection(both.union(FieldSet.empty))).toBe(both);
        expect(a.difference(b).difference(b)).toEqual(a.difference(b));
        expect(a.isSubsetOf(both)).toBe(true);
        expect(both.isSubsetOf(a)).toBe(b.isSubsetOf(a));
        expect(a.equals(FieldSet.ofPaths(FieldSetPaths(a)))).toBe(true);
        expect(a.equals(b)).toBe([...members(a)].sort().join() === [...members(b)].sort().join());
      }),
    );
  });

  test('has() finds only members', () => {
    fc.assert(
      fc.property(sets, path, (set, p) => {
        expect(set.has(p)).toBe(members(set).has(JSON.stringify(p.map((e) => e.text))));
        expect(set.has([])).toBe(false);
      }),
    );
  });
});

function FieldSetPaths(set: FieldSet): PathElement[][] {
  const paths: PathElement[][] = [];
  set.forEach((p) => paths.push([...p]));
  return paths;
}

describe('serialization', () => {
  test('round-trips', () => {
    fc.assert(
      fc.property(sets, (set) => {
        const json = toFieldsV1(set);
        const read = readFieldsV1(JSON.parse(JSON.stringify(json)) as JsonObject).set;
        expect(read.equals(set)).toBe(true);
        expect(JSON.stringify(toFieldsV1(read))).toBe(JSON.stringify(json));
      }),
    );
  });

  test('the order is canonical, regardless of the order of the input', () => {
    const shuffled = {
      'i:10': {},
      'v:true': {},
      'v:"b"': {},
      'v:9': {},
      'v:100': {},
      'k:{"port":443}': {},
      'k:{"port":80}': {},
      'k:{"name":"b"}': {},
      'k:{"name":"a","port":1}': {},
      'k:{"name":"a"}': { '.': {}, 'f:name': {} },
      'f:b': {},
      'f:a': { 'f:x': {} },
      'i:9': {},
    };
    expect(Object.keys(toFieldsV1(readFieldsV1(shuffled).set))).toEqual([
      'f:a',
      'f:b',
      'k:{"name":"a"}',
      'k:{"name":"a","port":1}',
      'k:{"name":"b"}',
      'k:{"port":80}',
      'k:{"port":443}',
      'v:9',
      'v:100',
      'v:"b"',
      'v:true',
      'i:9',
      'i:10',
    ]);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['the empty set', {}, {}],
    [
      'keys in another order are the same item',
      { 'k:{"b":1,"a":2}': {}, 'k:{"a":2,"b":1}': { 'f:x': {} } },
      { 'k:{"a":2,"b":1}': { '.': {}, 'f:x': {} } },
    ],
    ['unknown kinds are left out', { 'q:x': { 'f:a': {} }, 'f:a': { 'z:1': {} } }, { 'f:a': {} }],
    ['null is a leaf', { 'f:a': null }, { 'f:a': {} }],
    [
      'a dot says that the element is a member',
      { 'f:a': { '.': {}, 'f:b': {} }, 'f:c': { 'f:d': {} } },
      { 'f:a': { '.': {}, 'f:b': {} }, 'f:c': { 'f:d': {} } },
    ],
    [
      'escaped characters',
      { 'v:"a<b>&\\u2028\\b\\f"': {} },
      { 'v:"a\\u003cb\\u003e\\u0026\\u2028\\u0008\\u000c"': {} },
    ],
    ['field names with any character', { 'f:': {}, 'f:a:b"c': {} }, { 'f:': {}, 'f:a:b"c': {} }],
    [
      'member names that every object inherits',
      { 'f:constructor': {}, 'f:__proto__': {} },
      { 'f:__proto__': {}, 'f:constructor': {} },
    ],
  ])('%s', (_name, given, written) => {
    const out = toFieldsV1(readFieldsV1(given).set);
    expect(JSON.stringify(out)).toBe(JSON.stringify(written));
  });

  test.each([
    ['short', { f: {} }],
    ['without colon', { 'foo:': {} }],
    ['no number', { 'i:x': {} }],
    ['not JSON', { 'v:{': {} }],
    ['keys that are not an object', { 'k:[1]': {} }],
    ['no object below', { 'f:a': 5 }],
    ['a list below', { 'f:a': [] }],
  ])('refused: %s', (_name, given) => {
    expect(() => readFieldsV1(given as JsonObject)).toThrow(SyntaxError);
  });

  test('nesting is bounded', () => {
    const nested = (depth: number): JsonObject => {
      let fields: JsonObject = {};
      for (let i = 0; i < depth; i++) fields = { 'f:a': fields };
      return fields;
    };
    // Sets of up to 10,000 levels need the stack of a worker: test/integration/deep-values.test.ts.
    expect(readFieldsV1(nested(900)).set.size).toBe(1);
    expect(() => readFieldsV1(nested(100_000))).toThrow(/exceeded max depth|Maximum call stack/);
  });

  test('a hundred thousand members do not take quadratic time', () => {
    const took = growth(100_000, (size) => {
      const fields: JsonObject = {};
      for (let i = size; i > 0; i--) fields[`k:{"id":${String(i)}}`] = {};
      return () => {
        const set = readFieldsV1(fields).set;
        expect(set.union(set.difference(FieldSet.ofPaths([[PathElement.keys(['id'], [5])]]))).size).toBe(size);
      };
    });
    expect(took).toBeLessThanOrEqual(1);
  });
});

describe('string form in messages', () => {
  test.each([
    [PathElement.field('a'), '.a'],
    [PathElement.keys(['name', 'port'], ['x"y', 1000000]), '[name="x\\"y",port=1000000]'],
    [PathElement.parse('k:{"port":1000000,"name":"x"}')!, '[name="x",port=1e+06]'],
    [PathElement.parse('v:8080')!, '[=8080]'],
    [PathElement.value(true), '[=true]'],
    [PathElement.value(1.5), '[=1.5]'],
    [PathElement.index(3), '[3]'],
  ])('%#', (given, text) => {
    expect(given.toString()).toBe(text);
  });
});

// JSON.parse of Node 24 may read an escaped key as the key that an earlier object of its shape had (apimachinery/json/escaped-keys.test.ts).
test('keys with escapes are read apart', () => {
  for (const name of ['\\\\', '\\n', '\\"', '\\t']) {
    const text = `k:{"shape":1,"a${name}":1}`;
    expect([name, PathElement.parse(text)?.keyNames]).toEqual([name, [JSON.parse(`"a${name}"`), 'shape'].sort()]);
  }
});
