import { addFacts, type JsonObject } from '../../apimachinery/json/json.js';
import type { CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import { encodeObject } from '../../storage/encode.js';
import type { StoredObject } from '../../storage/interfaces.js';
import { encodeRecord, INCOMPLETE, readRecord } from '../../storage/record.js';
import { DetachedObject } from '../../storage/detached-object.js';
import { isUnchanged } from './unchanged.js';

const widget = (spec: JsonObject): JsonObject => ({
  apiVersion: 'a.b/v1',
  kind: 'Widget',
  metadata: { name: 'a' },
  spec,
});

const incomplete = (spec: JsonObject): JsonObject => {
  const object = widget(spec);
  addFacts(object, { incomplete: true });
  return object;
};

const stored = (object: JsonObject): StoredObject => ({
  key: 'a',
  revision: 7,
  ...readRecord(encodeRecord(encodeObject(object), 7)),
});

test('a record flags an incomplete object without changing its bytes', () => {
  const [made, plain] = [stored(incomplete({ a: 1 })), stored(widget({ a: 1 }))];
  expect([made.flags, plain.flags]).toEqual([INCOMPLETE, 0]);
  expect(made.bytes).toEqual(plain.bytes);
});

test('an incomplete object is rendered even in an identity representation', () => {
  const identity: Representation = {
    id: 'identity',
    identityUpTo: Infinity,
    separator: ',',
    render: (object: CachedObject) => Buffer.from(`rendered ${object.key}`),
  };
  const shown = (object: JsonObject): string => {
    return Buffer.from(new DetachedObject(stored(object)).render(identity)).toString();
  };
  expect(shown(incomplete({ a: 1 }))).toBe('rendered a');
  expect(shown(widget({ a: 1 }))).toBe(Buffer.from(stored(widget({ a: 1 })).bytes).toString());
});

test('being incomplete is not a change', () => {
  for (const next of [widget, incomplete])
    for (const current of [widget, incomplete]) {
      expect(isUnchanged(encodeObject(next({ a: 1 })), stored(current({ a: 1 })))).toBe(true);
      expect(isUnchanged(encodeObject(next({ a: 2 })), stored(current({ a: 1 })))).toBe(false);
    }
});
