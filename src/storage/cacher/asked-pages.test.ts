import type { JsonObject } from '../../apimachinery/json/json.js';
import { EVERYTHING } from '../../apimachinery/selectors/selection-predicate.js';
import { systemClock } from '../../util/clock.js';
import { Budget } from './budget.js';
import { withCondition } from './condition.js';
import type { CachedObject } from './interfaces.js';
import { replaceLeaves } from './tree/blocks.js';
import { Tree } from './tree/btree.js';
import { cachedItem, type CachedItem } from './tree/cached-item.js';
import type { LeafData } from './tree/leaf-data.js';
import { type ItemTree, makePage, type State } from './tree/page.js';

const budget = new Budget(8 << 20);
const type = { resource: 'things', attributes: () => ({ labels: undefined, fields: {} }) };
const source = { type: () => type, budget, localStates: undefined, onLost: () => undefined };

const itemOf = (i: number, revision: number, size: number): CachedItem =>
  cachedItem(
    {
      key: `n${i % 3 === 0 ? '1' : '1-x'}/${String(i).padStart(5, '0')}`,
      revision,
      bytes: Buffer.from(JSON.stringify({ size })),
      flags: 0,
    },
    source,
  );

const sizeOf = (object: CachedObject): number => Number(object.decode()['size']);

/** Counts what is evaluated. */
let evaluated = 0;
const condition = {
  id: 'large',
  matches: (object: CachedObject): boolean | undefined => {
    evaluated++;
    const size = sizeOf(object);
    return size % 10 === 7 ? undefined : size % 10 > 3;
  },
};
const order = {
  id: 'by size',
  keyOf: (object: CachedObject): Uint8Array => {
    evaluated++;
    return Buffer.from([sizeOf(object) % 16]);
  },
};

const byKey = (a: CachedItem, b: CachedItem): number => (a.key < b.key ? -1 : 1);
const items = Array.from({ length: 1000 }, (_, i) => itemOf(i, i + 1, (i * 7919) % 1000)).sort(byKey);
let tree: ItemTree;
let state: State;
beforeEach(() => {
  tree = Tree.from<CachedItem, LeafData>(items);
  state = { tree, revision: 1000, undecodable: 0 };
});
const predicate = withCondition(EVERYTHING, condition);

async function namesOf(of: State, options: object): Promise<string[]> {
  const whole = { prefix: '', from: '', limit: 0, predicate, ...options };
  return Array.from((await makePage(of, whole, budget, systemClock, 0)).items(), ({ key }) => key);
}

const matching = (of: readonly CachedItem[]): CachedItem[] => of.filter((item) => condition.matches(item) === true);

function ordered(of: readonly CachedItem[]): string[] {
  const parts = ({ key }: CachedItem): string[] => key.split('/');
  return [...of]
    .sort((a, b) => {
      const difference = (sizeOf(a) % 16) - (sizeOf(b) % 16);
      const [[nsA = '', nameA = ''], [nsB = '', nameB = '']] = [parts(a), parts(b)];
      return difference || (nsA === nsB ? (nameA < nameB ? -1 : 1) : nsA < nsB ? -1 : 1);
    })
    .map(({ key }) => key);
}

async function evaluations(run: () => Promise<unknown>): Promise<number> {
  evaluated = 0;
  await run();
  return evaluated;
}

test('a condition is evaluated once for each object, and again only for what has changed', async () => {
  const expected = matching(items).map(({ key }) => key);
  expect(await evaluations(async () => expect(await namesOf(state, {})).toEqual(expected))).toBe(1000);
  expect(await evaluations(async () => expect(await namesOf(state, {})).toEqual(expected))).toBe(0);
  const changed = tree.set(itemOf(500, 1001, 5));
  replaceLeaves(changed.removed, changed.added, budget);
  const next = { ...state, tree: changed.tree, revision: 1001 };
  const after = matching([...changed.tree]).map(({ key }) => key);
  expect(await evaluations(async () => expect(await namesOf(next, {})).toEqual(after))).toBe(1);
});

test('failures are counted among the objects that were looked at', async () => {
  const options = { prefix: '', from: '', limit: 0, predicate };
  const { failures } = await makePage(state, options, budget, systemClock, 0);
  expect(failures?.count).toBe(items.filter((item) => condition.matches(item) === undefined).length);
  expect(condition.matches(failures?.first as CachedObject)).toBeUndefined();
  const first = await makePage(state, { ...options, limit: 1 }, budget, systemClock, 0);
  const [only] = first.items();
  const before = items.slice(0, items.indexOf(only as CachedItem));
  expect(first.failures?.count ?? 0).toBe(before.filter((item) => condition.matches(item) === undefined).length);
});

test.each([0, 1, 7, 100, 1000])('an order in pages of %i is the order of all', async (limit) => {
  const expected = ordered(matching(items));
  const seen: string[] = [];
  let from = '';
  for (;;) {
    const page = await makePage(state, { prefix: '', from, limit, predicate, order }, budget, systemClock, 0);
    seen.push(...Array.from(page.items(), ({ key }) => key));
    expect(page.remaining).toBe(expected.length - seen.length);
    if (page.lastKey === undefined) break;
    from = page.lastKey;
  }
  expect(seen).toEqual(expected);
});

test('the keys of an order are computed once, and again only for what has changed', async () => {
  const all = { predicate: EVERYTHING, order: { ...order, id: 'again' }, limit: 5 };
  expect(await evaluations(() => namesOf(state, all))).toBe(1000);
  expect(await evaluations(() => namesOf(state, all))).toBe(0);
  const changed = tree.set(itemOf(501, 1002, 5));
  replaceLeaves(changed.removed, changed.added, budget);
  const next = { ...state, tree: changed.tree, revision: 1002 };
  expect(
    await evaluations(async () => expect(await namesOf(next, all)).toEqual(ordered([...changed.tree]).slice(0, 5))),
  ).toBe(1);
});

test.each([1, 50, 399, 400, 1000])('a page of %i tells how many follow', async (limit) => {
  const total = matching(items).length;
  const options = { prefix: '', from: '', limit, predicate, exactCount: true };
  const page = await makePage(state, options, budget, systemClock, 0);
  expect(page.length).toBe(Math.min(limit, total));
  expect(page.remaining).toBe(Math.max(0, total - limit));
  expect(page.lastKey === undefined).toBe(limit >= total);
});

test('a search ends when nobody waits for it', async () => {
  const clock = { ...systemClock, monotonic: () => evaluated * 1000 };
  const options = {
    prefix: '',
    from: '',
    limit: 0,
    predicate: withCondition(EVERYTHING, { ...condition, id: 'other' }),
  };
  const gone = AbortSignal.abort();
  await expect(makePage(state, { ...options, signal: gone }, budget, clock, 0)).rejects.toThrow();
});

test('an order whose last object is gone is refused', async () => {
  const options: JsonObject = { prefix: '', from: 'n1/none', limit: 1 };
  await expect(namesOf(state, { ...options, order })).rejects.toThrow('invalid continue token');
});

test('the results of 10,000 expressions stay within the budget, and are counted', async () => {
  const small = new Budget(256 << 10);
  const own = { type: () => type, budget: small, localStates: undefined, onLost: () => undefined };
  const few = Array.from({ length: 300 }, (_, i) => {
    const key = `n/${String(i).padStart(5, '0')}`;
    return cachedItem({ key, revision: i + 1, bytes: Buffer.from(JSON.stringify({ size: i })), flags: 0 }, own);
  });
  const of: State = { tree: Tree.from<CachedItem, LeafData>(few), revision: 300, undecodable: 0 };
  const listed = async (i: number): Promise<number> => {
    const one = { id: `expression ${String(i)}`, matches: (object: CachedObject) => sizeOf(object) > i % 300 };
    const options = { prefix: '', from: '', limit: 0, predicate: withCondition(EVERYTHING, one), order };
    return Array.from((await makePage(of, options, small, systemClock, 0)).items()).length;
  };
  for (let i = 0; i < 10_000; i++) {
    const count = await listed(i);
    if (i % 1000 === 0) expect(count).toBe(299 - (i % 300));
  }
  const { bytes, askedBytes, askedHits, evictions, limit } = small.stats();
  expect(bytes).toBeLessThanOrEqual(limit);
  expect(askedBytes).toBeGreaterThan(0);
  expect(askedBytes).toBeLessThanOrEqual(bytes);
  expect(evictions).toBeGreaterThan(9_000);
  // The last expression is still known, the first one is not.
  await listed(9_999);
  expect(small.stats().askedHits - askedHits).toBe(300);
  await listed(0);
  expect(small.stats().askedHits - askedHits).toBe(300);
});
