import type { JsonObject } from '../../../apimachinery/json/json.js';
import { objectAt } from '../../../apimachinery/json/json.js';
import type { StoredObject } from '../../interfaces.js';
import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import { Budget } from '../budget.js';
import type { CachedObject, CachedType } from '../interfaces.js';
import { joinSegment } from './blocks.js';
import { Leaf } from './leaf.js';
import { Tree } from './btree.js';
import { cachedItem, type CachedItem } from './cached-item.js';
import type { LeafData } from './leaf-data.js';
import { PackedItems, type PackingSource } from './packed-items.js';
import { WorkingSet } from './working-set.js';

const labelsOf = (object: JsonObject): Record<string, string> | undefined =>
  objectAt(objectAt(object, 'metadata'), 'labels') as Record<string, string> | undefined;

/** Creates items `a/k0` to `a/k<count - 1>` whose bytes are in a file. */
function setup(count: number) {
  const file = new Map<number, StoredObject>();
  let reads = 0;
  const unpacked: object[] = [];
  let type: CachedType = {
    resource: 'things',
    attributes: (object: JsonObject) => ({ labels: labelsOf(object), fields: { 'metadata.name': '', color: 'red' } }),
  };
  const source: PackingSource = {
    budget: new Budget(1 << 20),
    localStates: {
      read: (_key, revision) => {
        reads++;
        return file.get(revision);
      },
      walk: () => Promise.resolve(undefined),
      copy: undefined,
    },
    type: () => type,
    mayPack: () => true,
    onLost: () => undefined,
    onPacked: () => undefined,
    onUnpacked: (leaf) => unpacked.push(leaf),
  };
  const items = Array.from({ length: count }, (_, i) => {
    const bytes = Buffer.from(JSON.stringify({ metadata: { name: `k${i}`, labels: { part: `${i % 3}` } } }));
    const stored = { key: `a/k${i}`, revision: i + 1, bytes, flags: i % 2 };
    file.set(i + 1, stored);
    return cachedItem(stored, source);
  });
  return {
    source,
    items,
    /** Returns another state of an object, which is also in the file. */
    changed: (key: string, revision: number) => {
      const bytes = Buffer.from(JSON.stringify({ metadata: { name: key, labels: { changed: `${revision}` } } }));
      const stored = { key, revision, bytes, flags: 0 };
      file.set(revision, stored);
      return cachedItem(stored, source);
    },
    file,
    unpacked,
    reads: () => reads,
    describeAnew: () => {
      type = { resource: 'things', attributes: () => ({ labels: { anew: 'yes' }, fields: {} }) };
    },
  };
}

test('a packed leaf returns its items unchanged', () => {
  const { source, items, unpacked, reads } = setup(9);
  const leaf = new Leaf<CachedItem, LeafData>(items);
  leaf.pack(PackedItems.of(items, source));
  expect([leaf.size, leaf.first, leaf.keyAt(8), leaf.keyAt(9)]).toEqual([9, 'a/k0', 'a/k8', '']);
  expect(leaf.find('a/k4')).toMatchObject({ key: 'a/k4', revision: 5, flags: 0 });
  expect(leaf.find('a/k')).toBeUndefined();
  expect(leaf.find('b')).toBeUndefined();
  expect(leaf.at(9)).toBeUndefined();
  // The attributes for selectors need no bytes.
  expect(leaf.at(5)?.attributes).toEqual({
    labels: { part: '2' },
    fields: { 'metadata.name': '', color: 'red', 'metadata.namespace': 'a' },
  });
  expect(reads()).toBe(0);
  expect(Buffer.from(leaf.at(5)?.bytes ?? []).toString()).toBe('{"metadata":{"name":"k5","labels":{"part":"2"}}}');
  expect(unpacked).toEqual([]);
  expect(leaf.items.map(({ key, revision, flags, bytes }) => [key, revision, flags, bytes.length])).toEqual(
    items.map(({ key, revision, flags, bytes }) => [key, revision, flags, bytes.length]),
  );
  expect(unpacked).toEqual([leaf]);
  expect(leaf.packed).toBeUndefined();
});

test('attributes are computed again if the description of the type has changed', () => {
  const { source, items, describeAnew } = setup(3);
  const packed = PackedItems.of(items, source);
  describeAnew();
  expect(packed.at(1)?.attributes.labels).toEqual({ anew: 'yes' });
  expect(packed.hasAttributesOf(packed.unpack())).toBe(false);
});

test('throws for bytes that are missing, unreadable, or of another object', () => {
  const { source, items, file } = setup(3);
  const packed = PackedItems.of(items, source);
  file.delete(1);
  file.set(2, { key: 'a/k1', revision: 2, bytes: new Uint8Array(3), flags: 0 });
  file.set(3, { key: 'a/k2', revision: 3, bytes: new Uint8Array(), flags: 0, unreadable: 'it is damaged' });
  expect(() => packed.at(0)?.bytes).toThrow('revision 1 of a/k0 is no longer kept');
  expect(() => packed.at(1)?.bytes).toThrow('the stored record does not match the object');
  expect(() => packed.at(2)?.bytes).toThrow('it is damaged');
});

test('over the limit, the least recently used leaves are packed if their bytes are in the file', () => {
  const { source, items, file } = setup(8);
  const warmth = new WorkingSet(3_000);
  const leaves = [0, 2, 4, 6].map((at) => new Leaf<CachedItem, LeafData>(items.slice(at, at + 2)));
  file.delete(1);
  for (const leaf of leaves.slice(0, 3)) warmth.add(leaf, source);
  // The first was the oldest, but cannot be packed.
  expect(leaves.map((leaf) => leaf.packed !== undefined)).toEqual([false, false, false, false]);
  expect(leaves[1]?.items).toHaveLength(2);
  const last = leaves.at(-1);
  if (last !== undefined) warmth.add(last, source);
  expect(leaves.map((leaf) => leaf.packed !== undefined)).toEqual([false, false, true, false]);
  expect(warmth.stats()).toMatchObject({ limit: 3_000, packed: 1, unpacked: 0 });
  expect(warmth.stats().bytes).toBeLessThanOrEqual(3_000);
  expect(leaves[2]?.at(0)?.key).toBe('a/k4');
  expect(leaves[2]?.packed).toBeDefined();
});

test('an empty leaf is not kept, because it is not removed with its type', () => {
  const { source } = setup(1);
  const warmth = new WorkingSet(3_000);
  warmth.add(new Leaf<CachedItem, LeafData>([]), source);
  expect((warmth as unknown as { readonly leaves: ReadonlyMap<unknown, unknown> }).leaves.size).toBe(0);
});

const shown = (item: CachedItem): unknown[] => [
  item.key,
  item.revision,
  item.attributes.labels,
  Buffer.from(item.bytes).toString(),
];

test('changes, splits, and joins packed leaves without unpacking them, and leaves older trees unchanged', () => {
  const { source, items, changed, unpacked } = setup(500);
  items.sort((a, b) => compareUtf8(a.key, b.key));
  const model = new Map(items.map((item) => [item.key, shown(item)]));
  const leaves = [0, 100, 200, 300, 400].map(
    (at) => new Leaf<CachedItem, LeafData>(undefined, PackedItems.of(items.slice(at, at + 100), source)),
  );
  let tree = Tree.ofLeaves(leaves);
  const snapshots: [typeof tree, unknown[]][] = [];
  const expected = (): unknown[] => [...model].sort(([a], [b]) => compareUtf8(a, b)).map(([, item]) => item);
  for (let i = 0; i < 3000; i++) {
    const random = (i * 7919) % 1000;
    // Many items are added, then most are deleted.
    const key = `a/k${random}`;
    const item = i < 1500 || i % 16 === 0 ? changed(key, 1000 + i) : undefined;
    const { previous, added, ...change } = item === undefined ? tree.delete(key) : tree.set(item);
    expect(previous && shown(previous)).toEqual(model.get(key));
    if (item === undefined) model.delete(key);
    else model.set(key, shown(item));
    for (const leaf of added) {
      const { packed } = leaf;
      if (i % 3 === 0 && packed instanceof PackedItems) leaf.pack(packed.packed());
      if (packed === undefined) leaf.pack(PackedItems.of(leaf.held, source));
    }
    tree = change.tree;
    if (i % 100 === 0) snapshots.push([tree, expected()]);
  }
  snapshots.push([tree, expected()]);
  for (const [snapshot, all] of snapshots) {
    expect([...snapshot].map(shown)).toEqual(all);
    const [first] = snapshot.segments(0, 1);
    const separator = Buffer.from(',');
    const joined = (first?.leaf.packed as PackedItems | undefined)?.join(0, 2, separator) ?? '';
    expect(Buffer.from(joined).toString()).toBe(
      `,${String((all[0] as string[])[3])},${String((all[1] as string[])[3])}`,
    );
  }
  expect([...tree.segments(0, tree.size)].length).toBeLessThan(5);
  expect(unpacked).toEqual([]);
});

test('a changed leaf holds only its changed items in memory until it is packed with their attributes', () => {
  const { source, items, changed } = setup(9);
  const warmth = new WorkingSet(10_000_000);
  const packed = PackedItems.of(items, source);
  const [leaf] = new Leaf<CachedItem, LeafData>(undefined, packed).splice(4, 1, changed('a/k4', 100));
  if (leaf === undefined) throw new Error('no leaf');
  warmth.add(leaf, source);
  expect(leaf.held.map(({ key, revision }) => [key, revision])).toEqual([['a/k4', 100]]);
  expect(warmth.stats().bytes).toBeLessThan(1_000);
  const again = (leaf.packed as PackedItems).packed();
  expect(again.loose).toEqual([]);
  expect(again.unpack().map(({ revision, attributes }) => [revision, attributes.labels])).toEqual([
    [1, { part: '0' }],
    [2, { part: '1' }],
    [3, { part: '2' }],
    [4, { part: '0' }],
    [100, { changed: '100' }],
    [6, { part: '2' }],
    [7, { part: '0' }],
    [8, { part: '1' }],
    [9, { part: '2' }],
  ]);
});

test('a leaf that has changed often is packed at once', () => {
  const { source, items, changed } = setup(40);
  const warmth = new WorkingSet(10_000_000);
  items.sort((a, b) => compareUtf8(a.key, b.key));
  let tree = Tree.ofLeaves([new Leaf<CachedItem, LeafData>(undefined, PackedItems.of(items, source))]);
  for (let i = 0; i < 100; i++) {
    const { removed, added, ...change } = tree.set(changed(`a/k${i % 40}`, 1000 + i));
    for (const leaf of removed) warmth.remove(leaf);
    for (const leaf of added) {
      warmth.add(leaf, source);
      expect(leaf.held.length).toBeLessThanOrEqual(16);
    }
    tree = change.tree;
  }
  expect(warmth.stats().packed).toBe(5);
});

test('caches the joined bytes of packed items if they are read again before the budget turns over', () => {
  const { source, items, reads } = setup(40);
  const packed = PackedItems.of(
    items.filter(({ incomplete }) => !incomplete),
    source,
  );
  const leaf = new Leaf<CachedItem, LeafData>(undefined, packed);
  const budget = new Budget(10_000);
  const representation = {
    id: 'json',
    identityUpTo: Infinity,
    separator: ',',
    render: (object: CachedObject) => object.bytes,
  };
  const list = (): number => {
    const before = reads();
    joinSegment({ leaf, start: 0, end: leaf.size }, representation, budget);
    return reads() - before;
  };
  expect([list(), budget.stats().bytes]).toEqual([20, 0]);
  budget.pass(10_000);
  expect([list(), budget.stats().bytes]).toEqual([20, 0]);
  expect(list()).toBe(20);
  expect(budget.stats().bytes).toBeGreaterThan(0);
  expect(list()).toBe(0);
});
