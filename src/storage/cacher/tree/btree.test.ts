import fc from 'fast-check';
import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import { Tree, type Change } from './btree.js';

interface Item {
  readonly key: string;
  readonly value: number;
}

const key = fc.oneof(
  fc.integer({ min: 0, max: 400 }).map((n) => `k${n}`),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }),
);
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ key, value: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ key }) },
);

function sorted(model: Map<string, number>): Item[] {
  return [...model].map(([each, value]) => ({ key: each, value })).sort((a, b) => compareUtf8(a.key, b.key));
}

function leavesOf(tree: Tree<Item, never>): unknown[] {
  return [...tree.segments(0, tree.size)].map((segment) => segment.leaf);
}

describe('the tree', () => {
  test('behaves like a sorted map, and leaves older trees unchanged', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 800 }), fc.array(key, { maxLength: 200 }), (actions, initial) => {
        const model = new Map(initial.map((each, i) => [each, i]));
        let tree = Tree.from<Item, never>(sorted(model));
        const snapshots: { tree: Tree<Item, never>; items: Item[] }[] = [];
        actions.forEach((each, i) => {
          const before = model.get(each.key);
          let change: Change<Item, never>;
          if ('value' in each) {
            change = tree.set(each);
            model.set(each.key, each.value);
          } else {
            change = tree.delete(each.key);
            model.delete(each.key);
          }
          expect(change.previous?.value).toBe(before);
          tree = change.tree;
          if (i % 50 === 0) snapshots.push({ tree, items: sorted(model) });
        });
        snapshots.push({ tree, items: sorted(model) });
        for (const { tree: snapshot, items } of snapshots) {
          expect([...snapshot]).toEqual(items);
          expect(snapshot.size).toBe(items.length);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('get, rank, at, and segments agree with the sorted keys', () => {
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 600 }), key, fc.nat(700), fc.nat(700), (keys, probe, a, b) => {
        let tree = Tree.empty<Item, never>();
        keys.forEach((each, value) => (tree = tree.set({ key: each, value }).tree));
        const items = sorted(new Map(keys.map((each, value) => [each, value])));
        expect(tree.get(probe)).toEqual(items.find((item) => item.key === probe));
        expect(tree.rank((each) => compareUtf8(each, probe) < 0)).toBe(
          items.filter((item) => compareUtf8(item.key, probe) < 0).length,
        );
        expect(tree.at(a)).toEqual(items[a]);
        const part = [...tree.segments(a, b)].flatMap(({ leaf, start, end }) => leaf.items.slice(start, end));
        expect(part).toEqual(a < b ? items.slice(a, b) : []);
      }),
      { numRuns: 200 },
    );
  });

  test('reports exactly the leaves that a change removed and added, and bounds their size', () => {
    let tree = Tree.empty<Item, never>();
    const apply = (change: Change<Item, never>): void => {
      const before = new Set(leavesOf(tree));
      const after = new Set(leavesOf(change.tree));
      expect(new Set(change.added.filter((leaf) => leaf.size > 0))).toEqual(
        new Set([...after].filter((leaf) => !before.has(leaf))),
      );
      expect(new Set(change.removed.filter((leaf) => leaf.size > 0))).toEqual(
        new Set([...before].filter((leaf) => !after.has(leaf))),
      );
      tree = change.tree;
    };
    const order = Array.from({ length: 3000 }, (_, i) => (i * 1777) % 3000);
    for (const value of order) apply(tree.set({ key: `k${String(value).padStart(5, '0')}`, value }));
    const sizes = [...tree.segments(0, tree.size)].map(({ leaf }) => leaf.size);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(128);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(32);
    for (const value of order.slice(0, 2990)) apply(tree.delete(`k${String(value).padStart(5, '0')}`));
    expect([...tree].map((item) => item.value).sort()).toEqual(order.slice(2990).sort());
    expect([...tree.segments(0, tree.size)]).toHaveLength(1);
  });
});
