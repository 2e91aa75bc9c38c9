import { parseJson } from '../../apimachinery/json/decode.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import { encodeObject, markIncomplete } from '../../storage/encode.js';
import { encodedBytes, isIncomplete, withRevision } from '../../storage/object-bytes.js';
import { DetachedObject } from './loopback/detached-object.js';
import { isUnchanged } from './unchanged.js';

const widget = (spec: JsonObject): JsonObject => ({
  apiVersion: 'a.b/v1',
  kind: 'Widget',
  metadata: { name: 'a' },
  spec,
});

const incomplete = (spec: JsonObject): JsonObject => {
  const object = widget(spec);
  markIncomplete(object);
  return object;
};

const bytesOf = (object: JsonObject): Uint8Array => encodedBytes(encodeObject(object), 7);

test('bytes say whether an object is complete, at any revision, and mean the same', () => {
  const bytes = bytesOf(incomplete({ a: 1 }));
  expect([isIncomplete(bytes), isIncomplete(withRevision(bytes, 1000))]).toEqual([true, true]);
  expect(parseJson(bytes)).toEqual(parseJson(bytesOf(widget({ a: 1 }))));
  expect([isIncomplete(bytesOf(widget({ a: 1 }))), isIncomplete(bytesOf(widget({ a: ' ' })))]).toEqual([false, false]);
  expect(isIncomplete(new Uint8Array(0))).toBe(false);
});

test('an object that is incomplete is rendered, whatever the representation', () => {
  const identity: Representation = {
    id: 'identity',
    identity: true,
    separator: ',',
    render: (object: CachedObject) => Buffer.from(`rendered ${object.key}`),
  };
  const shown = (object: JsonObject): string => {
    const stored = { key: 'a', revision: 7, bytes: bytesOf(object) };
    return Buffer.from(new DetachedObject(stored).render(identity)).toString();
  };
  expect(shown(incomplete({ a: 1 }))).toBe('rendered a');
  expect(shown(widget({ a: 1 }))).toBe(Buffer.from(bytesOf(widget({ a: 1 }))).toString());
});

test('to be incomplete is no change', () => {
  const stored = (object: JsonObject) => ({ key: 'a', revision: 7, bytes: bytesOf(object) });
  for (const next of [widget, incomplete])
    for (const current of [widget, incomplete]) {
      expect(isUnchanged(encodeObject(next({ a: 1 })), stored(current({ a: 1 })))).toBe(true);
      expect(isUnchanged(encodeObject(next({ a: 2 })), stored(current({ a: 1 })))).toBe(false);
    }
});
