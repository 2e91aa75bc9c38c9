import type { JsonObject } from '../../../apimachinery/json/json.js';
import { toInternalSpec } from './internal.js';
import { sameValue } from './same.js';

test.each<[JsonObject, JsonObject]>([
  [{ type: 'object' }, { type: 'object', nullable: false, required: [], properties: {}, enum: [], description: '' }],
  [{ default: null }, {}],
  [{ jsonPath: '.a', priority: 0 }, { jsonPath: '.a' }],
])('%j equals %j', (a, b) => {
  expect([sameValue(a, b), sameValue(b, a)]).toEqual([true, true]);
});

test.each<[JsonObject, JsonObject]>([
  [{ additionalProperties: false }, {}],
  [{ default: '' }, {}],
  [{ default: '' }, { default: false }],
  [{ default: { a: [] } }, { default: { a: null } }],
  [{ enum: [''] }, { enum: [false] }],
  [{ maximum: 0 }, {}],
  [{ properties: { a: {} } }, {}],
  [{ properties: { default: { type: 'string' } } }, { properties: {} }],
  [{ 'x-kubernetes-list-type': '' }, {}],
  [{ items: {} }, {}],
])('%j differs from %j', (a, b) => {
  expect([sameValue(a, b), sameValue(b, a)]).toEqual([false, false]);
});

test('subresources shared by all versions become top-level, even if empty', () => {
  const spec = (...subresources: JsonObject[]): (JsonObject | undefined)[] => {
    const versions = subresources.map((more, i) => ({ name: `v${String(i)}`, ...more }));
    const internal = toInternalSpec({ metadata: { name: 'x' }, spec: { versions } });
    return [internal.subresources, ...internal.versions.map((version) => version.subresources)];
  };
  expect(spec({ subresources: {} }, { subresources: {} })).toEqual([{}, undefined, undefined]);
  expect(spec({ subresources: {} }, {})).toEqual([undefined, {}, undefined]);
});
