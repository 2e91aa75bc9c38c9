import type { Backend } from '../../src/storage/interfaces.js';
import type { Author, DeletedOptions, KeptHistory, KeptListOptions } from '../../src/storage/kept/interfaces.js';
import { KEEP_DELETED, KEEP_NOTHING, SHORTENING_MILLIS } from '../../src/storage/kept/policies.js';
import { FakeClock } from '../fakes/util/clock.js';
import { layersOver, memory, stacked } from './compositions.js';
import { commit, embedded, put, remove, RESOURCE, type PreparedStore } from './fixtures.js';

const DAY = 24 * 3_600_000;
const WINDOW = 5 * 60_000;
const author = (user: string): Author => ({ user, manager: 'm', userAgent: 'm/1', auditID: 'id', impersonator: '' });
const all: KeptListOptions = { resource: undefined, prefix: '', after: 0, upTo: 0, order: 'oldest first', limit: 1000 };
const trash: DeletedOptions = { prefix: '', since: 0, from: '', limit: 1000 };

describe.each([memory, ...layersOver(memory), stacked(memory), embedded, ...layersOver(embedded), stacked(embedded)])(
  'history of a $name store',
  (fixture) => {
    let store: PreparedStore;
    let backend: Backend;
    let kept: KeptHistory;
    let clock: FakeClock;
    beforeEach(async () => {
      clock = new FakeClock(1_000_000);
      store = await fixture.prepare();
      await open();
    });
    afterEach(async () => {
      await backend.close();
      await store.dispose();
    });

    async function open(): Promise<void> {
      backend = store.backend({ clock, historyMillis: WINDOW });
      await backend.open();
      if (backend.kept === undefined) throw new Error('the store has no history');
      kept = backend.kept;
    }

    /** Lets time pass in which states leave the window. */
    async function pass(millis: number): Promise<void> {
      clock.advance(millis);
      await commit(backend, put('marker', (await backend.get('markers', 'marker'))?.revision ?? 0, {}, 'markers'));
      clock.advance(WINDOW + 1);
      await backend.compact(await backend.currentRevision());
    }

    const listed = async (options: Partial<KeptListOptions> = {}): Promise<string[]> => {
      const { entries } = await kept.list({ ...all, resource: RESOURCE, ...options });
      return entries.map(({ operation, key, content }) => `${operation} ${key} ${specOf(content.bytes)}`);
    };
    const deleted = async (options: Partial<DeletedOptions> = {}): Promise<string[]> => {
      const { entries } = await kept.deleted(RESOURCE, { ...trash, ...options });
      return entries.map(({ key, content }) => `${key} ${specOf(content.bytes)}`);
    };
    const specOf = (bytes: Uint8Array): string => {
      const { spec } = JSON.parse(Buffer.from(bytes).toString()) as { readonly spec: { readonly n?: number } };
      return String(spec.n);
    };

    /** Encrypted types are kept only if somebody asks for it. */
    const keepDeleted = (): Promise<void> => kept.setPolicy(RESOURCE, KEEP_DELETED);

    test('shows the writes of the window with who made them', async () => {
      const { revision } = await commit(backend, { ...put('a/x', 0, { n: 1 }), author: author('alice') });
      const updated = await commit(backend, { ...put('a/x', revision, { n: 2 }), author: author('bob') });
      await commit(backend, remove('a/x', updated.revision));
      const { entries, more } = await kept.list({ ...all, resource: RESOURCE });
      expect(more).toBe(false);
      expect(
        entries.map(({ operation, revision: at, previous, time, author: by, content }) => [
          ...[operation, at, previous, time, by?.user],
          ...[content.revision, specOf(content.bytes)],
        ]),
      ).toEqual([
        ['Create', revision, 0, 1_000_000, 'alice', revision, '1'],
        ['Update', updated.revision, revision, 1_000_000, 'bob', updated.revision, '2'],
        ['Delete', updated.revision + 1, updated.revision, 1_000_000, undefined, updated.revision, '2'],
      ]);
      expect(entries[0]?.author).toEqual(author('alice'));
      expect(await kept.entry(RESOURCE, 'a/x', revision)).toEqual(entries[0]);
      expect(await kept.entry(RESOURCE, 'a/y', revision)).toBeUndefined();
      expect(specOf((await kept.content(RESOURCE, 'a/x', revision))?.bytes ?? Buffer.from(''))).toBe('1');
    });

    test('selects and pages', async () => {
      for (const key of ['a/1', 'a/2', 'b/1']) await commit(backend, put(key, 0, { n: 1 }));
      await commit(backend, put('a/1', 0, { n: 5 }, 'gadgets.example.com'));
      await commit(backend, put('a/1', (await backend.get(RESOURCE, 'a/1'))?.revision ?? 0, { n: 2 }));
      expect(await listed({ prefix: 'a/' })).toEqual(['Create a/1 1', 'Create a/2 1', 'Update a/1 2']);
      expect(await listed({ key: 'a/1', order: 'newest first' })).toEqual(['Update a/1 2', 'Create a/1 1']);
      expect(await listed({ operations: ['Update', 'Delete'] })).toEqual(['Update a/1 2']);
      expect(await listed({ resource: undefined, prefix: 'a/', key: 'a/1' })).toHaveLength(3);
      for (const order of ['oldest first', 'newest first'] as const) {
        const whole = await kept.list({ ...all, order });
        const found: number[] = [];
        let range = { after: 0, upTo: whole.revision };
        for (let more = true; more;) {
          const page = await kept.list({ ...all, ...range, order, limit: 2 });
          found.push(...page.entries.map(({ revision }) => revision));
          const last = found.at(-1) ?? 0;
          range = order === 'oldest first' ? { ...range, after: last } : { ...range, upTo: last - 1 };
          ({ more } = page);
        }
        expect(found).toEqual(whole.entries.map(({ revision }) => revision));
        expect(found).toHaveLength(5);
      }
    });

    test('keeps the last state of what was deleted, for the time of the policy', async () => {
      await keepDeleted();
      const first = await commit(backend, put('a/x', 0, { n: 1 }));
      const second = await commit(backend, put('a/x', first.revision, { n: 2 }));
      await commit(backend, remove('a/x', second.revision));
      await commit(backend, put('a/y', 0, { n: 3 }));
      expect(await deleted()).toEqual(['a/x 2']);
      await pass(DAY);
      expect(await deleted()).toEqual(['a/x 2']);
      expect(await listed()).toEqual(['Delete a/x 2']);
      expect(await kept.types()).toContain(RESOURCE);
      expect(await kept.usage(RESOURCE)).toMatchObject({
        revisions: { count: 0, bytes: 0 },
        deleted: { count: 1, oldest: 1_000_000 },
      });
      await backend.close();
      await open();
      expect(await deleted({ since: 1_000_000 })).toEqual(['a/x 2']);
      expect(await deleted({ since: 1_000_001 })).toEqual([]);
      await pass(6 * DAY);
      expect([await deleted(), await listed()]).toEqual([[], []]);
      expect((await backend.get(RESOURCE, 'a/y'))?.key).toBe('a/y');
    });

    test('shows only the newest deletion, and none of an object that is there', async () => {
      await keepDeleted();
      for (const n of [1, 2]) {
        const { revision } = await commit(backend, put('a/x', 0, { n }));
        await commit(backend, remove('a/x', revision));
        expect(await deleted()).toEqual([`a/x ${n}`]);
        if (n === 1) await pass(0);
      }
      await pass(0);
      expect(await listed()).toEqual(['Delete a/x 1', 'Delete a/x 2']);
      expect(await deleted()).toEqual(['a/x 2']);
      await commit(backend, put('a/x', 0, { n: 3 }));
      expect(await deleted()).toEqual([]);
    });

    test('pages deleted objects in the order of their keys, from both places', async () => {
      await keepDeleted();
      const keys = Array.from({ length: 25 }, (_, i) => `${i % 2 === 0 ? 'a' : 'b'}/${String(i).padStart(2, '0')}`);
      for (const [i, key] of keys.entries()) {
        const { revision } = await commit(backend, put(key, 0, { n: i }));
        await commit(backend, remove(key, revision));
        if (i === 12) await pass(0);
      }
      const found: string[] = [];
      for (let from = '', more = true; more;) {
        const page = await kept.deleted(RESOURCE, { ...trash, from, limit: 4 });
        found.push(...page.entries.map(({ key }) => key));
        from = `${found.at(-1) ?? ''}\0`;
        ({ more } = page);
      }
      expect(found).toEqual(keys.toSorted());
      expect(await deleted({ prefix: 'b/' })).toHaveLength(12);
      expect(await deleted({ keys: ['a/00', 'b/23', 'c/0'] })).toEqual(['a/00 0', 'b/23 23']);
    });

    test('keeps superseded states, and of them the newest of each object', async () => {
      await kept.setPolicy(RESOURCE, { ...KEEP_DELETED, keepRevisionsFor: 2 * DAY, maxRevisionsPerObject: 3 });
      let revision = 0;
      for (let n = 1; n <= 6; n++) ({ revision } = await commit(backend, put('a/x', revision, { n })));
      await pass(DAY);
      expect(await listed()).toEqual(['Update a/x 3', 'Update a/x 4', 'Update a/x 5', 'Update a/x 6']);
      expect(await kept.usage(RESOURCE)).toMatchObject({ revisions: { count: 3 }, deleted: { count: 0 } });
      await commit(backend, remove('a/x', revision));
      await pass(DAY);
      expect(await listed()).toEqual(['Update a/x 6', 'Delete a/x 6']);
      await pass(DAY);
      expect(await listed()).toEqual(['Delete a/x 6']);
    });

    test('lets the oldest go beyond the bytes of the policy, and says so', async () => {
      await kept.setPolicy(RESOURCE, { ...KEEP_DELETED, maxBytes: 1 });
      const { revision } = await commit(backend, put('a/x', 0, { n: 1 }));
      await commit(backend, remove('a/x', revision));
      await pass(SHORTENING_MILLIS);
      expect(await deleted()).toEqual([]);
      expect((await kept.usage(RESOURCE)).cutAt).toBeGreaterThan(1_000_000);
    });

    test('shortens a policy a day later', async () => {
      await keepDeleted();
      const { revision } = await commit(backend, put('a/x', 0, { n: 1 }));
      await commit(backend, remove('a/x', revision));
      await pass(0);
      await kept.setPolicy(RESOURCE, KEEP_NOTHING);
      const { policy, isDefault, earlier } = await kept.policy(RESOURCE);
      expect([policy, isDefault, earlier?.policy]).toEqual([KEEP_NOTHING, false, KEEP_DELETED]);
      expect((await kept.usage(RESOURCE)).pending).toBe(1);
      await pass(DAY / 2);
      expect(await deleted()).toEqual(['a/x 1']);
      await pass(DAY / 2);
      expect(await deleted()).toEqual([]);
      expect((await kept.policy(RESOURCE)).earlier).toBeUndefined();
    });

    test('purges at once, in the window and out of it', async () => {
      await keepDeleted();
      for (const key of ['a/old', 'a/other']) {
        const { revision } = await commit(backend, put(key, 0, { n: 1 }));
        await commit(backend, remove(key, revision));
      }
      await pass(0);
      const { revision } = await commit(backend, put('a/new', 0, { n: 2 }));
      await commit(backend, remove('a/new', revision));
      expect(await kept.purge(RESOURCE, ['a/old', 'a/none'])).toBe(1);
      expect(await deleted()).toEqual(['a/new 2', 'a/other 1']);
      expect(await kept.purge(RESOURCE, undefined)).toBeGreaterThanOrEqual(2);
      expect([await deleted(), await listed()]).toEqual([[], []]);
      await pass(0);
      expect([await deleted(), await listed()]).toEqual([[], []]);
      const again = await commit(backend, put('a/old', 0, { n: 4 }));
      await commit(backend, remove('a/old', again.revision));
      expect(await deleted()).toEqual(['a/old 4']);
    });

    test('keeps nothing of types that only the window keeps', async () => {
      const { revision } = await commit(backend, put('a/x', 0, { n: 1 }, 'secrets'));
      await commit(backend, remove('a/x', revision, 'secrets'));
      expect(await listed({ resource: 'secrets' })).toEqual(['Create a/x 1', 'Delete a/x 1']);
      expect((await kept.deleted('secrets', trash)).entries).toEqual([]);
      await pass(0);
      expect(await listed({ resource: 'secrets' })).toEqual([]);
    });
  },
);
