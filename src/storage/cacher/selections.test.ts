import type { JsonObject } from '../../apimachinery/json/json.js';
import { Budget } from './budget.js';
import { Tree } from './tree/btree.js';
import type { LeafData } from './tree/leaf-data.js';
import { cachedItem, type CachedItem } from './tree/cached-item.js';
import { hashOf, labelHashes } from './selections.js';
import { makePage } from './tree/page.js';
import { systemClock } from '../../util/clock.js';
import { compileSelection, FieldSelector } from '../../apimachinery/selectors/field-selectors.js';
import { parseLabelSelector } from '../../apimachinery/selectors/label-parser.js';

const budget = new Budget(1 << 20);
const type = {
  resource: 'things',
  attributes: (object: JsonObject) => ({
    labels: (object['metadata'] as { labels?: Record<string, string> }).labels,
    fields: {},
  }),
};

/** Returns the labels of an item. Every seventh has none, the others have one of five values, and some have a second label. */
const labelsOf = (i: number): Record<string, string> | undefined =>
  i % 7 === 0 ? undefined : { kind: `k${i % 5}`, ...(i % 3 === 0 ? { extra: '' } : {}) };

const items = Array.from({ length: 1000 }, (_, i) => {
  const key = `ns/${String(i).padStart(5, '0')}`;
  const labels = labelsOf(i);
  const bytes = Buffer.from(JSON.stringify({ metadata: labels === undefined ? {} : { labels } }));
  return cachedItem(
    { key, revision: i + 1, bytes, flags: 0 },
    { type: () => type, budget, localStates: undefined, onLost: () => undefined },
  );
});
const tree = Tree.from<CachedItem, LeafData>(items);

describe('lists by label', () => {
  test.each([
    'kind=k1',
    'kind in (k2)',
    'kind in (k1,k2)',
    'kind=k9',
    'extra=',
    'extra=,kind=k3',
    'kind!=k1',
    'toString=x',
  ])('%s', async (selector) => {
    const labels = parseLabelSelector(selector);
    const predicate = compileSelection(labels, FieldSelector.everything);
    const expected = items.filter((item) => labels.matches(item.attributes.labels)).map((item) => item.key);
    const state = { tree, revision: 1000, undecodable: 0 };
    const options = { prefix: '', from: '', limit: 0, predicate };
    const page = await makePage(state, options, budget, systemClock, 0);
    expect([...page.items()].map((item) => item.key)).toEqual(expected);
    const keys: string[] = [];
    for (let from: string | undefined = ''; from !== undefined;) {
      const part = await makePage(state, { ...options, from, limit: 33 }, budget, systemClock, 0);
      keys.push(...[...part.items()].map((item) => item.key));
      from = part.lastKey === undefined ? undefined : `${part.lastKey}\0`;
    }
    expect(keys).toEqual(expected);
  });

  test('a missing label differs from an empty one, and the hashes are cached', () => {
    for (const { leaf } of tree.segments(0, 1)) {
      const hashes = labelHashes(leaf, 'extra', budget);
      expect([hashes[0], hashes[1], hashes[3]]).toEqual([0, 0, hashOf('')]);
      expect(labelHashes(leaf, 'extra', budget).buffer).toBe(hashes.buffer);
    }
  });
});
