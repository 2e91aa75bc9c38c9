import type { JsonObject } from '../../apimachinery/json/json.js';
import { changedFields } from './changed-fields.js';

const before: JsonObject = {
  metadata: { name: 'a', resourceVersion: '1', generation: 1, managedFields: [{ manager: 'x' }], labels: { a: 'b' } },
  spec: { replicas: 1, list: [1, 2], gone: true },
};

test('are paths as in messages about managed fields, without bookkeeping', () => {
  const after: JsonObject = {
    metadata: { name: 'a', resourceVersion: '2', generation: 2, managedFields: [{ manager: 'y' }], labels: { a: 'c' } },
    spec: { replicas: 3, list: [1, 2, 3], new: 'x' },
  };
  expect(changedFields(before, after)).toEqual({
    paths: ['.metadata.labels.a', '.spec.gone', '.spec.list', '.spec.new', '.spec.replicas'],
    more: 0,
  });
});

test('are none where nothing changed, and no more than 100', () => {
  expect(changedFields(before, structuredClone(before))).toEqual({ paths: [], more: 0 });
  const many = { ...before, spec: Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${String(i)}`, i])) };
  const { paths, more } = changedFields(before, many);
  expect([paths.length, more]).toEqual([100, 53]);
});
