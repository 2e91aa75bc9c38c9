import fc from 'fast-check';
import { addFacts, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import { encodeObject } from '../../storage/encode.js';
import type { StoredObject } from '../../storage/interfaces.js';
import { encodeRecord, readRecord } from '../../storage/record.js';
import { isUnchanged } from './unchanged.js';

const stored = (object: JsonObject, decoded = false): StoredObject => {
  const encoded = encodeObject(object);
  const { bytes, flags } = readRecord(encodeRecord(encoded, 12_345));
  return { key: 'a/b', revision: 12_345, bytes, flags, object: decoded ? encoded.object : undefined };
};
const thing = (metadata: JsonObject, spec: JsonValue): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata,
  spec,
});

test.each<[string, JsonObject, JsonObject, boolean]>([
  ['the same', thing({ name: 'a' }, { x: 1 }), thing({ name: 'a' }, { x: 1 }), true],
  [
    'another order of keys',
    thing({ name: 'a', uid: 'u' }, { x: 1, y: 2 }),
    { spec: { y: 2, x: 1 }, metadata: { uid: 'u', name: 'a' }, kind: 'Thing', apiVersion: 'v1' },
    true,
  ],
  [
    'another revision',
    thing({ name: 'a', resourceVersion: '1' }, {}),
    thing({ name: 'a', resourceVersion: '999' }, {}),
    true,
  ],
  ['another value', thing({ name: 'a' }, { x: 'a' }), thing({ name: 'a' }, { x: 'b' }), false],
  ['another length', thing({ name: 'a' }, { x: 'a' }), thing({ name: 'a' }, { x: 'aa' }), false],
  ['the same characters elsewhere', thing({ name: 'a' }, { x: 'ab' }), thing({ name: 'a' }, { x: 'ba' }), false],
  ['values changed places', thing({ name: 'a' }, { x: 1, y: 2 }), thing({ name: 'a' }, { x: 2, y: 1 }), false],
  ['another order of items', thing({ name: 'a' }, [1, 2]), thing({ name: 'a' }, [2, 1]), false],
  ['beyond ASCII, the same', thing({ name: 'a' }, { ü: '世', x: 1 }), thing({ name: 'a' }, { x: 1, ü: '世' }), true],
  ['beyond ASCII, another', thing({ name: 'a' }, { x: 'ü' }), thing({ name: 'a' }, { x: 'ö' }), false],
  ['64 bits, the same', thing({ name: 'a' }, { x: 2n ** 62n }), thing({ name: 'a' }, { x: 2n ** 62n }), true],
  ['64 bits, another', thing({ name: 'a' }, { x: 2n ** 62n }), thing({ name: 'a' }, { x: 2n ** 62n + 1n }), false],
])('%s', (_, before, after, unchanged) => {
  for (const decoded of [false, true])
    expect(isUnchanged(encodeObject(after), stored(before, decoded))).toBe(unchanged);
});

test('an object with unseen members differs from one without, though both read the same', () => {
  const noted = thing({ name: 'a' }, { x: 1 });
  addFacts(noted, { unseenMembers: 'stored' });
  const plain = thing({ name: 'a' }, { x: 1 });
  expect(isUnchanged(encodeObject(plain), stored(noted))).toBe(false);
  expect(isUnchanged(encodeObject(noted), stored(noted))).toBe(true);
  expect(parseJson(stored(noted).bytes)).toEqual(parseJson(stored(plain).bytes));
  const other = thing({ name: 'a' }, { x: 1 });
  addFacts(other, { unseenMembers: 'dropped' });
  expect(isUnchanged(encodeObject(plain), stored(other))).toBe(true);
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
const reversed = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member as JsonValue)]),
  );
};

test('an object that is stored and read back is unchanged in any key order', () => {
  fc.assert(
    fc.property(json, (spec) => {
      const current = stored(thing({ name: 'a' }, spec));
      const again = parseJson(current.bytes) as JsonObject;
      expect(isUnchanged(encodeObject(again), current)).toBe(true);
      expect(isUnchanged(encodeObject(reversed(again) as JsonObject), current)).toBe(true);
    }),
  );
});
