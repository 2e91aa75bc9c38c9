import type { JsonObject } from '../../../apimachinery/json/json.js';
import { toInternalSpec } from './internal.js';
import { sameValue } from './same.js';

test.each<[JsonObject, JsonObject]>([
  [{ type: 'object' }, { type: 'object', nullable: false, required: [], properties: {}, enum: [], description: '' }],
  [{ default: null }, {}],
  [{ jsonPath: '.a', priority: 0 }, { jsonPath: '.a' }],
])('%j is the same as %j', (a, b) => {
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
])('%j is something else than %j', (a, b) => {
  expect([sameValue(a, b), sameValue(b, a)]).toEqual([false, false]);
});

test('what versions have in common is theirs together, even if it is empty', () => {
  const spec = (...subresources: JsonObject[]): (JsonObject | undefined)[] => {
    const versions = subresources.map((more, i) => ({ name: `v${String(i)}`, ...more }));
    const internal = toInternalSpec({ metadata: { name: 'x' }, spec: { versions } });
    return [internal.subresources, ...internal.versions.map((version) => version.subresources)];
  };
  expect(spec({ subresources: {} }, { subresources: {} })).toEqual([{}, undefined, undefined]);
  expect(spec({ subresources: {} }, {})).toEqual([undefined, {}, undefined]);
});
