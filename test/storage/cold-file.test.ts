import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../fakes/util/clock.js';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import { WorkingSet } from '../../src/storage/cacher/tree/working-set.js';
import type { LocalStates, Backend, NewestState, NewestStates, StoredObject } from '../../src/storage/interfaces.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { layered } from '../../src/storage/layered.js';
import { ColdFile } from '../../src/storage/mongodb/cold/file.js';
import { ColdType, type ColdSource } from '../../src/storage/mongodb/cold/type.js';
import { identity, joined, page, widgets } from './cacher-fixtures.js';
import { LimitedFile } from './cold-fixtures.js';
import { commit, everything, put } from './fixtures.js';
import { mountSmallDisk, unmount, whyNoSmallDisk } from './small-disk.js';

const KEEP = 10_000;
let directory: string;
let clock: FakeClock;
let file: LimitedFile;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'annex-cold-'));
  clock = new FakeClock();
  file = new LimitedFile({ directory, clock, keepMillis: KEEP });
  await file.open();
});
afterEach(async () => {
  await file.close();
  rmSync(directory, { recursive: true });
});

const state = (revision: number, text: string, key = 'a/k'): NewestState => ({
  key,
  revision,
  flags: 1,
  bytes: Buffer.from(text),
  undecodable: false,
});
const textOf = (type: LocalStates, revision: number): string | undefined => {
  const stored = type.read('a/k', revision);
  return stored === undefined ? undefined : (stored.unreadable ?? Buffer.from(stored.bytes).toString());
};
const typeOf = (of: ColdFile = file, source: Partial<ColdSource> = {}): LocalStates =>
  new ColdType(of, {
    resource: 'widgets.example.com',
    clock,
    walk: () => Promise.resolve(1),
    batchAt: (revision) => Promise.resolve(`batch ${revision}`),
    changesAfter: () => Promise.resolve(undefined),
    ...source,
  }).states;
const newest = (revision: number, ...states: NewestState[]): NewestStates => ({
  revision,
  isCurrent: () => true,
  inMemory: () => states.map(({ key }) => key),
  stateOf: (key) => states.find((each) => each.key === key),
});
/** Triggers a save and waits for it to finish. */
async function save(type: LocalStates, states: NewestStates): Promise<void> {
  clock.advance(31_000);
  type.copy?.save(states);
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}
const walked = async (type: LocalStates): Promise<string[]> => {
  const objects: string[] = [];
  await type.walk(({ key, revision, bytes, keptLength }) =>
    objects.push(`${key}@${revision} ${Buffer.from(bytes).toString()}${keptLength === undefined ? '' : ' kept'}`),
  );
  return objects;
};

test('states are read as they were kept, separately for each type', () => {
  const [one, two] = [typeOf(), typeOf()];
  expect(one.copy?.keep([state(7, 'seven'), state(2 ** 40, 'late', 'a/l')])).toBe(true);
  expect(one.read('a/k', 7)).toMatchObject({ key: 'a/k', revision: 7, flags: 1 });
  expect([textOf(one, 7), textOf(one, 2 ** 40), textOf(one, 8), textOf(two, 7)]).toEqual([
    'seven',
    'late',
    undefined,
    undefined,
  ]);
  expect(statSync(join(directory, 'cold.mdb')).mode & 0o77).toBe(0);
});

test('a replaced state stays readable for a while', () => {
  const type = typeOf();
  type.copy?.keep([state(1, 'one')]);
  type.copy?.keep([state(2, 'two')]);
  clock.advance(KEEP - 1);
  expect(textOf(type, 1)).toBe('one');
  clock.advance(2_000);
  expect([textOf(type, 1), textOf(type, 2)]).toEqual([undefined, 'two']);
});

test('after a reload, a type keeps its old states for a while, then only the new ones', async () => {
  const type = typeOf();
  type.copy?.keep(Array.from({ length: 1_200 }, (_, i) => state(i + 1, 'old', `a/k${i}`)));
  await type.walk(() => undefined);
  type.copy?.keep([state(1_201, 'new')]);
  expect([textOf(type, 3), textOf(type, 1_201)]).toEqual(['old', 'new']);
  clock.advance(KEEP + 2_000);
  for (let i = 0; i < 5; i++) clock.advance(1_000);
  expect([textOf(type, 3), textOf(type, 1_200), textOf(type, 1_201)]).toEqual([undefined, undefined, 'new']);
});

describe('the next process', () => {
  /** Leaves the file of an earlier process: a/k at revision 1, a/l at revision 2, saved at revision 5. */
  async function leave(): Promise<void> {
    const type = typeOf();
    type.copy?.keep([state(1, 'k'), state(2, 'l', 'a/l')]);
    await save(type, newest(5));
  }

  async function next(boot?: string): Promise<void> {
    await file.close();
    file = new LimitedFile({ directory, clock, keepMillis: KEEP, ...(boot === undefined ? {} : { boot }) });
    await file.open();
  }

  const reported = (
    revision: number,
    ...states: (readonly [string, StoredObject | undefined])[]
  ): Partial<ColdSource> => ({
    changesAfter: () => Promise.resolve({ states: new Map(states), revision }),
  });

  test('continues with the saved states and the changes in the log', async () => {
    await leave();
    await next();
    const asked: unknown[] = [];
    const changes = {
      states: new Map([
        ['a/k', undefined],
        ['b/n', state(9, 'n', 'b/n')],
      ]),
      revision: 9,
    };
    const type = typeOf(file, {
      changesAfter: (checkpoint) => {
        asked.push(checkpoint);
        return Promise.resolve(changes);
      },
    });
    expect(await walked(type)).toEqual(['a/l@2 l kept', 'b/n@9 n']);
    expect(asked).toEqual([expect.objectContaining({ revision: 5, batch: 'batch 5' })]);
    // Only once: the reason for another load may be in the file itself.
    expect(await walked(type)).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test('starts from scratch if nothing was saved, the log is too short, or the machine was rebooted', async () => {
    typeOf().copy?.keep([state(1, 'k')]);
    await next();
    expect(await walked(typeOf(file, reported(9)))).toEqual([]);
    await leave();
    await next();
    expect(await walked(typeOf(file))).toEqual([]);
    await next();
    expect(await walked(typeOf(file, reported(9)))).toEqual([]);
    await leave();
    await next('another');
    expect(await walked(typeOf(file, reported(9)))).toEqual([]);
  });

  test('ignores states newer than the checkpoint that are not in the log', async () => {
    await leave();
    await next();
    const one = typeOf(file, reported(6, ['a/k', state(6, 'k6')]));
    expect(await walked(one)).toEqual(['a/k@6 k6', 'a/l@2 l kept']);
    one.copy?.keep([state(6, 'k6')]);
    await next();
    await expect(walked(typeOf(file, reported(5)))).rejects.toThrow('belongs to a different history of the store');
  });

  test.each<[string, (path: string) => void]>([
    ['has no header any more', (path) => writeFileSync(path, Buffer.alloc(40_000, 7))],
    ['was cut short', (path) => truncateSync(path, statSync(path).size / 4)],
    ['is gone', (path) => rmSync(path)],
  ])('starts from scratch with a file that %s', async (_, damage) => {
    const type = typeOf();
    type.copy?.keep(Array.from({ length: 600 }, (_, i) => state(i + 1, 'x'.repeat(10_000), `a/k${i}`)));
    await save(type, newest(1_000));
    await file.close();
    damage(join(directory, 'cold.mdb'));
    file = new LimitedFile({ directory, clock, keepMillis: KEEP });
    await file.open();
    expect(await walked(typeOf(file, reported(1_000)))).toEqual([]);
    await leave();
    await next();
    expect(await walked(typeOf(file, reported(5)))).toHaveLength(2);
  });

  test('removes the states of types that no longer exist', async () => {
    await leave();
    await next();
    clock.advance(10 * 60_000);
    for (let i = 0; i < 10; i++) clock.advance(KEEP);
    expect(await walked(typeOf(file, reported(9)))).toEqual([]);
    await next();
    expect(await walked(typeOf(file, reported(9)))).toEqual([]);
  });

  test('drops the states of a type that is no longer served', async () => {
    await leave();
    await next();
    const type = typeOf(file, reported(5));
    expect(await walked(type)).toHaveLength(2);
    type.copy?.drop();
    await next();
    expect(await walked(typeOf(file, reported(9)))).toEqual([]);
  });
});

describe('a save', () => {
  const kept = [state(1, 'k'), state(2, 'l', 'a/l')];
  /** Returns the objects that the next process loads if the log has no changes up to a revision, or "store" if it reads the store instead. */
  async function shown(revision: number): Promise<string[] | 'store'> {
    await file.close();
    file = new LimitedFile({ directory, clock, keepMillis: KEEP });
    await file.open();
    const store = { isRead: false };
    const walk = (): Promise<number> => {
      store.isRead = true;
      return Promise.resolve(revision);
    };
    const changes = { states: new Map<string, undefined>(), revision };
    const objects = await walked(typeOf(file, { walk, changesAfter: () => Promise.resolve(changes) }));
    return store.isRead ? 'store' : objects;
  }

  test('that the disk rejects is made up for by the next one', async () => {
    const type = typeOf();
    type.copy?.keep(kept);
    await save(type, newest(5, ...kept));
    type.copy?.changed('a/l');
    file.isBroken = true;
    await save(type, newest(7, state(1, 'k')));
    file.isBroken = false;
    await save(type, newest(9, state(1, 'k')));
    expect(await shown(9)).toEqual(['a/k@1 k kept']);
  });

  test('is discarded if the disk failed to delete it, and its objects are removed later', async () => {
    const type = typeOf();
    type.copy?.keep(kept);
    await save(type, newest(5, ...kept));
    file.isBroken = true;
    type.copy?.drop();
    file.isBroken = false;
    for (let i = 0; i < 5; i++) clock.advance(KEEP);
    expect(await shown(5)).toBe('store');
  });

  test('ignores a closed cache', async () => {
    const type = typeOf();
    type.copy?.keep(kept);
    await save(type, newest(5, ...kept));
    type.copy?.changed('a/l');
    await save(type, { ...newest(7), isCurrent: () => false });
    expect(await shown(5)).toEqual(['a/k@1 k kept', 'a/l@2 l kept']);
  });

  test('distinguishes deletions before its start from later ones', async () => {
    const type = typeOf();
    type.copy?.keep(kept);
    type.copy?.changed('a/k');
    type.copy?.changed('a/l');
    const states = newest(5);
    await save(type, {
      ...states,
      stateOf: (key) => {
        if (key === 'a/l') type.copy?.changed(key);
        return undefined;
      },
    });
    // In the same log, the later deletion would be among the changes.
    await expect(shown(5)).rejects.toThrow('belongs to a different history of the store');
  });

  test('leaves no replaced states for the next process', async () => {
    const type = typeOf();
    type.copy?.keep(kept);
    await save(type, newest(5, ...kept));
    type.copy?.keep([state(6, 'k6')]);
    expect(textOf(type, 1)).toBe('k');
    await file.close();
    file = new LimitedFile({ directory, clock, keepMillis: KEEP });
    await file.open();
    const changes = { states: new Map([['a/k', state(6, 'k6')]]), revision: 6 };
    const next = typeOf(file, { changesAfter: () => Promise.resolve(changes) });
    expect(await walked(next)).toEqual(['a/k@6 k6', 'a/l@2 l kept']);
    expect(textOf(next, 1)).toBeUndefined();
  });
});

test('two processes do not share a directory', async () => {
  const other = new ColdFile({ directory, clock });
  await expect(other.open()).rejects.toThrow(/of --cache-dir cannot be used: .* is in use by another process/);
});

const noDisk = whyNoSmallDisk();

describe('without room', () => {
  const ROOM = 100 << 20;
  const bytes = Buffer.alloc(200_000, 'x');
  const stateOf = (revision: number): NewestState => ({
    key: `a/k${revision}`,
    revision,
    flags: 0,
    bytes,
    undecodable: false,
  });

  function ticks(count: number): void {
    for (let i = 0; i < count; i++) clock.advance(1_000);
  }

  async function fillsAndEmpties(small: ColdFile): Promise<void> {
    await small.open();
    const type = typeOf(small);
    let kept = 0;
    while (kept < 1_000 && type.copy?.keep([stateOf(kept + 1)]) === true) kept++;
    expect(small.state()).toEqual({
      ok: false,
      reason: expect.stringMatching(
        /only \d+ MiB are available for --cache-dir \(disk or limit\); 32 MiB must stay free/,
      ) as string,
    });
    expect(kept).toBeGreaterThan(200);
    const found = Array.from({ length: kept }, (_, i) => type.read('a/k', i + 1)?.bytes.length);
    expect(new Set(found)).toEqual(new Set([bytes.length]));
    ticks(5);
    expect([small.state().ok, type.copy?.keep([stateOf(1_001)])]).toEqual([false, false]);
    for (let i = 1; i <= kept; i++) type.copy?.changed(`a/k${i}`);
    await save(type, newest(2_000));
    ticks(KEEP / 1_000 + 5);
    expect([small.state().ok, type.copy?.keep([stateOf(1_002)])]).toEqual([true, true]);
    expect(type.read('a/k', 1_002)?.bytes.length).toBe(bytes.length);
    await small.close();
  }

  test('a full file reports it and keeps nothing new; its states stay readable, and deletions make room', () =>
    fillsAndEmpties(new ColdFile({ directory: join(directory, 'small'), clock, keepMillis: KEEP, limit: ROOM })));

  const onDisk = noDisk === undefined ? test : test.skip;
  onDisk(`also on a full disk${noDisk === undefined ? '' : `: ${noDisk}`}`, async () => {
    const disk = join(directory, 'disk');
    mountSmallDisk(disk, ROOM >> 20);
    try {
      await fillsAndEmpties(new ColdFile({ directory: join(disk, 'small'), clock, keepMillis: KEEP }));
    } finally {
      unmount(disk);
    }
  });
});

describe('under a cache', () => {
  let store: string;
  let backend: Backend;
  let cacher: StorageCacher;
  beforeEach(async () => {
    store = mkdtempSync(join(tmpdir(), 'annex-store-'));
    const real = new EmbeddedBackend({ directory: store });
    await real.open();
    const type = typeOf(file, {
      walk: async (visit) => {
        const list = await real.list(widgets.resource, everything);
        list.items.forEach(visit);
        return list.revision;
      },
    });
    backend = layered(real, { localStates: { of: () => type } });
    // These are several leaves, because the first object of a load stays in memory.
    const names = [...Array.from({ length: 300 }, (_, i) => `f${i}`), 'one', 'two'];
    await Promise.all(names.map((name) => commit(backend, put(`a/${name}`, 0, { text: `the text of ${name}` }))));
    cacher = new StorageCacher({ backend, warmth: new WorkingSet(0) });
    await cacher.start();
  });
  afterEach(async () => {
    await cacher.stop();
    await backend.close();
    rmSync(store, { recursive: true });
  });
  const mostRecent = { mode: 'most-recent' } as const;

  test('a damaged file costs one failed read: the type is reloaded from the store', async () => {
    const cache = cacher.add(widgets);
    await cache.ready();
    expect(joined(await cache.list(mostRecent, page()), identity)).toContain('the text of two');
    const path = join(directory, 'cold.mdb');
    const bytes = readFileSync(path);
    for (let at = bytes.indexOf('the text of two'); at >= 0; at = bytes.indexOf('the text of two', at + 1))
      bytes.write('X', at);
    writeFileSync(path, bytes);
    const get = async (): Promise<string> =>
      Buffer.from((await cache.get('a/two', mostRecent))?.bytes ?? []).toString();
    await expect(get()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('a/two') as string,
    });
    expect(await get()).toContain('the text of two');
    expect(joined(await cache.list(mostRecent, page()), identity)).toContain('the text of two');
  });
});
