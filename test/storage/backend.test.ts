import type { Backend, LogEvent } from '../../src/storage/interfaces.js';
import { layersOver, memory, stacked } from './compositions.js';
import { INCOMPLETE, UNSEEN_MEMBERS } from '../../src/storage/record.js';
import { FakeClock } from '../fakes/util/clock.js';
import {
  collect,
  commit,
  corrupt,
  decode,
  describeEvent,
  embedded,
  everything,
  put,
  remove,
  RESOURCE,
  type PreparedStore,
  type StoreFixture,
} from './fixtures.js';
import { mongodbFixtures } from './mongodb-fixtures.js';

const mongodb = mongodbFixtures();
const fixtures: StoreFixture[] = [
  ...[embedded, ...layersOver(embedded), stacked(embedded)],
  ...[memory, ...layersOver(memory), stacked(memory)],
  ...mongodb,
  ...mongodb.slice(0, 1).flatMap((fixture) => [...layersOver(fixture), stacked(fixture)]),
];

describe.each(fixtures)('backend $name', (fixture) => {
  let store: PreparedStore;
  let backend: Backend;
  beforeEach(async () => {
    store = await fixture.prepare();
    backend = store.backend();
    await backend.open();
  });
  afterEach(async () => {
    await backend.close();
    await store.dispose();
  });

  const reopen = async (options = {}): Promise<void> => {
    await backend.close();
    backend = store.backend(options);
    await backend.open();
  };

  test('an empty store has a non-zero revision', async () => {
    expect(await backend.currentRevision()).toBe(1);
    expect(await backend.list(RESOURCE, everything)).toEqual({ items: [], revision: 1, more: false, remaining: 0 });
    expect(await backend.get(RESOURCE, 'a/b')).toBeUndefined();
  });

  test('creates, updates, and deletes get consecutive revisions', async () => {
    const created = await commit(backend, put('a/b', 0, { n: 1 }));
    expect(created.revision).toBe(2);
    expect(decode(created)).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { resourceVersion: '2', name: 'b', namespace: 'a', labels: { app: 'x' } },
      spec: { n: 1 },
    });
    const updated = await commit(backend, put('a/b', 2, { n: 2 }));
    expect(updated.revision).toBe(3);
    const read = await backend.get(RESOURCE, 'a/b');
    expect(read?.revision).toBe(3);
    expect(decode(read)).toMatchObject({ metadata: { resourceVersion: '3' }, spec: { n: 2 } });
    const deleted = await commit(backend, remove('a/b', 3));
    expect(deleted.revision).toBe(4);
    expect(decode(deleted)).toMatchObject({ metadata: { resourceVersion: '4' }, spec: { n: 2 } });
    expect(await backend.get(RESOURCE, 'a/b')).toBeUndefined();
    expect(await backend.currentRevision()).toBe(4);
  });

  test.each([1979, 5000, 60_000])('a name of %i characters is not found', async (length) => {
    const key = `a/${'x'.repeat(length)}`;
    expect(await backend.get(RESOURCE, key)).toBeUndefined();
    expect(await backend.write(remove(key, 7))).toEqual({ outcome: 'conflict', current: undefined });
    expect(await backend.write(put(key, 7))).toEqual({ outcome: 'conflict', current: undefined });
    expect((await backend.list(RESOURCE, { ...everything, prefix: `${key}/` })).items).toEqual([]);
  });

  test('a write with another expected state is a conflict and changes nothing', async () => {
    await commit(backend, put('a/b', 0, { n: 1 }));
    for (const request of [put('a/b', 0), put('a/b', 1), remove('a/b', 7), put('a/b', 3)]) {
      const result = await backend.write(request);
      expect(result.outcome).toBe('conflict');
      if (result.outcome === 'conflict')
        expect(decode(result.current)).toMatchObject({ metadata: { resourceVersion: '2' }, spec: { n: 1 } });
    }
    expect(await backend.write(put('a/c', 5))).toEqual({ outcome: 'conflict', current: undefined });
    expect(await backend.write(remove('a/c', 0))).toEqual({ outcome: 'conflict', current: undefined });
    expect(await backend.currentRevision()).toBe(2);
  });

  test('one of many concurrent writes to an object succeeds', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => backend.write(put('a/b', 0, { n }))));
    expect(results.filter((result) => result.outcome === 'committed')).toHaveLength(1);
    for (const result of results) {
      if (result.outcome === 'conflict') expect(result.current?.revision).toBe(2);
    }
    expect(await backend.currentRevision()).toBe(2);
  });

  // The writes below name revisions that only their order in the commit makes right.
  (fixture.reorders === true ? test.skip : test)('one commit may change an object several times', async () => {
    await commit(backend, put('a/old', 0, { n: 0 }));
    const writes = [
      ...[put('a/x', 0, { n: 1 }), put('a/x', 3, { n: 2 }), remove('a/x', 4), put('a/x', 0, { n: 3 })],
      ...[put('a/y', 0, { n: 1 }), remove('a/y', 7)],
      ...[put('a/old', 2, { n: 1 }), put('a/old', 9, { n: 2 })],
    ];
    const results = await Promise.all(writes.map((write) => commit(backend, write)));
    expect(results.map(({ revision }) => revision)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    await reopen();
    const { items } = await backend.list(RESOURCE, everything);
    expect(items.map((item) => [item.key, item.revision, decode(item)['spec']])).toEqual([
      ['a/old', 10, { n: 2 }],
      ['a/x', 6, { n: 3 }],
    ]);
    expect((await collect(backend, 2, 8)).map(describeEvent)).toEqual([
      '3 ADDED a/x',
      '4 MODIFIED a/x was 3',
      '5 DELETED a/x was 4',
      '6 ADDED a/x',
      '7 ADDED a/y',
      '8 DELETED a/y was 7',
      '9 MODIFIED a/old was 2',
      '10 MODIFIED a/old was 9',
    ]);
  });

  test('types and keys with a common prefix are kept apart', async () => {
    await commit(backend, put('a/b', 0, {}, 'widgets.example'));
    await commit(backend, put('a/b', 0, {}, 'widgets.example.com'));
    await commit(backend, put('ab/b', 0, {}, 'widgets.example'));
    const list = await backend.list('widgets.example', { ...everything, prefix: 'a/' });
    expect(list.items.map((item) => [item.key, item.revision])).toEqual([['a/b', 2]]);
    expect((await backend.list('widgets.example', everything)).items).toHaveLength(2);
    expect((await backend.list('widgets', everything)).items).toHaveLength(0);
  });

  test('lists are ordered by UTF-8 bytes and paged', async () => {
    const keys = ['a/1', 'a/10', 'a/2', 'a-b/1', 'b/\u{10000}', 'b/\uffee', 'b/z', 'c'];
    for (const key of [...keys].reverse()) await commit(backend, put(key, 0));
    const sorted = [...keys].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
    const all = await backend.list(RESOURCE, everything);
    expect(all.items.map((item) => item.key)).toEqual(sorted);
    const paged: string[] = [];
    let from = '';
    for (;;) {
      const page = await backend.list(RESOURCE, { prefix: '', from, limit: 3, revision: all.revision });
      paged.push(...page.items.map((item) => item.key));
      expect(page.revision).toBe(all.revision);
      expect(page.remaining).toBe(keys.length - paged.length);
      if (!page.more) break;
      from = `${page.items.at(-1)?.key ?? ''}\0`;
    }
    expect(paged).toEqual(sorted);
    const prefixed = await backend.list(RESOURCE, { prefix: 'a/', from: 'a/10', limit: 1, revision: 0 });
    expect(prefixed).toMatchObject({ more: true, remaining: 1, items: [{ key: 'a/10' }] });
  });

  test('a list at every past revision returns exactly the state at that revision', async () => {
    const model = new Map<string, number>();
    const states = new Map<number, [string, number][]>([[1, []]]);
    let seed = 7;
    const random = (n: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    for (let i = 0; i < 300; i++) {
      const key = `n${random(3)}/k${random(20)}`;
      const expected = model.get(key) ?? 0;
      const object = await commit(
        backend,
        expected !== 0 && random(3) === 0 ? remove(key, expected) : put(key, expected, { i }),
      );
      if (expected !== 0 && (await backend.get(RESOURCE, key)) === undefined) model.delete(key);
      else model.set(key, object.revision);
      states.set(
        object.revision,
        [...model].sort((x, y) => (x[0] < y[0] ? -1 : 1)),
      );
    }
    for (const [revision, state] of states) {
      const list = await backend.list(RESOURCE, { ...everything, revision });
      expect(list.revision).toBe(revision);
      expect(list.items.map((item) => [item.key, item.revision])).toEqual(state);
      const inOne = state.filter(([key]) => key.startsWith('n1/') && key >= 'n1/k15');
      const page = await backend.list(RESOURCE, { prefix: 'n1/', from: 'n1/k15', limit: 2, revision });
      expect(page.items.map((item) => item.key)).toEqual(inOne.slice(0, 2).map(([key]) => key));
      expect(page.remaining).toBe(Math.max(0, inOne.length - 2));
    }
    await expect(backend.list(RESOURCE, { ...everything, revision: 302 })).rejects.toMatchObject({ code: 'too-large' });
  });

  test('every write has one event, in order, with the states before and after', async () => {
    await commit(backend, put('a/b', 0, { n: 1 }));
    await commit(backend, put('a/b', 2, { n: 2 }));
    await commit(backend, put('other', 0, {}, 'others'));
    await commit(backend, remove('a/b', 3));
    const check = (events: readonly LogEvent[]): void => {
      expect(events.map(describeEvent)).toEqual([
        '2 ADDED a/b',
        '3 MODIFIED a/b was 2',
        '4 ADDED other',
        '5 DELETED a/b was 3',
      ]);
      expect(events[2]?.resource).toBe('others');
      expect(decode(events[1]?.object)).toMatchObject({ metadata: { resourceVersion: '3' }, spec: { n: 2 } });
      expect(decode(events[1]?.previous)).toMatchObject({ metadata: { resourceVersion: '2' }, spec: { n: 1 } });
      expect(decode(events[3]?.object)).toMatchObject({ metadata: { resourceVersion: '5' }, spec: { n: 2 } });
      expect(decode(events[3]?.previous)).toMatchObject({ metadata: { resourceVersion: '3' }, spec: { n: 2 } });
    };
    check(await collect(backend, 1, 4));
    expect((await collect(backend, 3, 2)).map(describeEvent)).toEqual(['4 ADDED other', '5 DELETED a/b was 3']);
    await reopen();
    check(await collect(backend, 1, 4));
  });

  test('concurrent writers and event readers: no event is missing or repeated', async () => {
    const total = 1500;
    const readers = [1, 1, 1].map((after) => collect(backend, after, total));
    const writers = Array.from({ length: 30 }, async (_, w) => {
      for (let i = 0; i < total / 30; i++) {
        const key = `n${w % 5}/k${w}-${i % 7}`;
        const current = await backend.get(RESOURCE, key);
        await commit(backend, put(key, current?.revision ?? 0, { i }));
      }
    });
    await Promise.all(writers);
    const late = await collect(backend, 1, total);
    for (const events of [...(await Promise.all(readers)), late]) {
      expect(events.map((event) => event.revision)).toEqual(Array.from({ length: total }, (_, i) => i + 2));
    }
    expect(await backend.currentRevision()).toBe(total + 1);
  });

  test('a stream ends when its signal aborts, and fails when the store closes', async () => {
    const controller = new AbortController();
    const read = async (signal: AbortSignal): Promise<number> => {
      let count = 0;
      for await (const batch of backend.events(1, signal)) count += batch.length;
      return count;
    };
    const aborted = read(controller.signal);
    const lost = read(new AbortController().signal);
    lost.catch(() => 0);
    await commit(backend, put('a/b', 0));
    controller.abort();
    expect(await aborted).toBeLessThanOrEqual(1);
    await backend.close();
    await expect(lost).rejects.toMatchObject({ code: 'closed' });
    await expect(backend.write(put('a/c', 0))).rejects.toMatchObject({ code: 'closed' });
    await expect(backend.get(RESOURCE, 'a/b')).rejects.toMatchObject({ code: 'closed' });
  });

  test('compaction drops the past and keeps the present', async () => {
    for (let i = 0; i < 10; i++) await commit(backend, put('a/b', i === 0 ? 0 : i + 1, { i }));
    await commit(backend, put('a/c', 0));
    await commit(backend, remove('a/c', 12));
    await backend.compact(8);
    expect(backend.compactedRevision()).toBe(8);
    await expect(backend.list(RESOURCE, { ...everything, revision: 7 })).rejects.toMatchObject({ code: 'compacted' });
    await expect(collect(backend, 7, 1)).rejects.toMatchObject({ code: 'compacted' });
    expect((await backend.list(RESOURCE, { ...everything, revision: 8 })).items.map((item) => item.revision)).toEqual([
      8,
    ]);
    expect((await collect(backend, 8, 5)).map((event) => event.revision)).toEqual([9, 10, 11, 12, 13]);
    await backend.compact(13);
    await reopen();
    expect(backend.compactedRevision()).toBe(13);
    expect(await backend.currentRevision()).toBe(13);
    expect(decode((await backend.list(RESOURCE, everything)).items[0])).toMatchObject({ spec: { i: 9 } });
    await commit(backend, remove('a/b', 11));
    await backend.compact(14);
    await reopen();
    expect((await commit(backend, put('a/b', 0))).revision).toBe(15);
  });

  test('raising the log compacts everything before and keeps the objects', async () => {
    await commit(backend, put('a/b', 0, { n: 1 }));
    await commit(backend, put('a/b', 2, { n: 2 }));
    await commit(backend, put('a/c', 0));
    await commit(backend, remove('a/c', 4));
    const stream = collect(backend, 5, 1);
    stream.catch(() => undefined);
    await backend.raise(50);
    await expect(stream).rejects.toMatchObject({ code: 'compacted' });
    expect([await backend.currentRevision(), backend.compactedRevision()]).toEqual([51, 51]);
    await expect(backend.list(RESOURCE, { ...everything, revision: 5 })).rejects.toMatchObject({ code: 'compacted' });
    await expect(collect(backend, 5, 1)).rejects.toMatchObject({ code: 'compacted' });
    const listed = async (): Promise<unknown> => {
      const { items, revision } = await backend.list(RESOURCE, everything);
      return [revision, items.map((item) => [item.key, item.revision, decode(item)['spec']])];
    };
    expect(await listed()).toEqual([51, [['a/b', 3, { n: 2 }]]]);
    await backend.raise(10);
    await reopen();
    expect(await listed()).toEqual([52, [['a/b', 3, { n: 2 }]]]);
    expect((await commit(backend, put('a/b', 3, { n: 3 }))).revision).toBe(53);
    expect((await collect(backend, 52, 1)).map(describeEvent)).toEqual(['53 MODIFIED a/b was 3']);
    expect(decode((await backend.list(RESOURCE, { ...everything, revision: 52 })).items[0])).toMatchObject({
      spec: { n: 2 },
    });
  });

  test('a log can be raised during writes and lists', async () => {
    await Promise.all(Array.from({ length: 200 }, (_, i) => commit(backend, put(`a/k${i}`, 0, { i }))));
    const lists = Array.from({ length: 5 }, () => backend.list(RESOURCE, everything));
    const writes = Array.from({ length: 50 }, (_, i) => commit(backend, put(`a/l${i}`, 0)));
    await Promise.all([...writes, backend.raise(1_000)]);
    for (const list of await Promise.all(lists)) expect(list.items.length).toBeGreaterThanOrEqual(200);
    await reopen();
    expect(await backend.currentRevision()).toBeGreaterThan(1_000);
    expect((await backend.list(RESOURCE, everything)).items).toHaveLength(250);
  });

  test('all data is present after reopening', async () => {
    for (let i = 0; i < 50; i++) await commit(backend, put(`a/k${i}`, 0, { i }));
    await reopen();
    const list = await backend.list(RESOURCE, everything);
    expect(list.items).toHaveLength(50);
    expect(list.revision).toBe(51);
    expect((await commit(backend, put('a/k0', 2, { i: 'new' }))).revision).toBe(52);
  });

  test('a long list does not block writes and stays at its revision', async () => {
    await Promise.all(
      Array.from({ length: 5000 }, (_, i) => commit(backend, put(`a/k${String(i).padStart(5, '0')}`, 0, { i }))),
    );
    const revision = await backend.currentRevision();
    const listing = backend.list(RESOURCE, everything);
    const writes = Promise.all([
      ...Array.from({ length: 100 }, (_, i) =>
        backend
          .get(RESOURCE, `a/k${4000 + i}`.replace('k4', 'k04'))
          .then((o) => commit(backend, remove(o?.key ?? '', o?.revision ?? 0))),
      ),
      ...Array.from({ length: 100 }, (_, i) => commit(backend, put(`a/l${i}`, 0))),
    ]);
    const list = await listing;
    await writes;
    // The list runs concurrently with the writes, so its revision may be any of theirs. It returns exactly the state at that revision.
    const keysAt = async (at: number): Promise<string[]> =>
      (await backend.list(RESOURCE, { ...everything, revision: at })).items.map(({ key }) => key);
    expect(list.revision).toBeGreaterThanOrEqual(revision);
    expect(list.items.map(({ key }) => key)).toEqual(await keysAt(list.revision));
    expect(await keysAt(revision)).toHaveLength(5000);
    expect((await backend.list(RESOURCE, everything)).items).toHaveLength(5000);
  });

  test('flags stay with a state in every read, and are not part of its text', async () => {
    const flagged = put('a/b', 0, { n: 1 });
    const value = flagged.value === undefined ? undefined : { ...flagged.value, flags: INCOMPLETE | UNSEEN_MEMBERS };
    const written = await commit(backend, { ...flagged, value });
    await commit(backend, put('a/b', written.revision, { n: 2 }));
    await commit(backend, remove('a/b', 3));
    const flags = async (): Promise<unknown> => ({
      now: written.flags,
      then: (await backend.list(RESOURCE, { ...everything, revision: 2 })).items.map((item) => [
        item.flags,
        decode(item),
      ]),
      events: (await collect(backend, 1, 3)).map(({ object, previous }) => [object.flags, previous?.flags]),
    });
    const expected = {
      now: 3,
      then: [[3, decode(written)]],
      events: [
        [3, undefined],
        [0, 3],
        [0, 0],
      ],
    };
    expect(await flags()).toEqual(expected);
    await reopen();
    expect(await flags()).toEqual(expected);
    const again = await commit(backend, { ...put('a/c', 0), value });
    expect((await backend.get(RESOURCE, 'a/c'))?.flags).toBe(3);
    const gone = await commit(backend, remove('a/c', again.revision));
    expect(gone.flags).toBe(3);
  });

  test('bytes that are not an object are kept unchanged', async () => {
    await commit(backend, put('a/b', 0));
    await commit(backend, put('a/c', 0));
    await corrupt(backend, RESOURCE, 'a/b', Buffer.from('{"half'));
    await reopen();
    const list = await backend.list(RESOURCE, everything);
    expect(list.items.map((item) => Buffer.from(item.bytes).toString().slice(0, 6))).toEqual(['{"half', '{"apiV']);
    await commit(backend, remove('a/b', 4));
    expect((await collect(backend, 4, 1)).map(describeEvent)).toEqual(['5 DELETED a/b was 4']);
  });

  // MongoDB uses its own time: see test/storage/mongodb.test.ts.
  if (fixture.usesClock !== true) return;

  test('history is trimmed automatically after its window', async () => {
    const clock = new FakeClock();
    await reopen({ clock, historyMillis: 60_000 });
    await commit(backend, put('a/b', 0, { n: 1 }));
    await commit(backend, put('a/b', 2, { n: 2 }));
    clock.advance(40_000);
    await commit(backend, put('a/b', 3, { n: 3 }));
    clock.advance(40_000);
    await backend.compact(1);
    expect(backend.compactedRevision()).toBe(3);
    expect(decode((await backend.list(RESOURCE, { ...everything, revision: 3 })).items[0])).toMatchObject({
      spec: { n: 2 },
    });
    clock.advance(40_000);
    await backend.compact(1);
    expect(backend.compactedRevision()).toBe(4);
    expect(decode(await backend.get(RESOURCE, 'a/b'))).toMatchObject({ spec: { n: 3 } });
  });
});
