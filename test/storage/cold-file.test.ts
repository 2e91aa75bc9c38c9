import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../src/util/clock.fake.js';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import { Warmth } from '../../src/storage/cacher/tree/warmth.js';
import type { AtHand, Backend } from '../../src/storage/interfaces.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { ColdFile } from '../../src/storage/mongodb/cold/file.js';
import { identity, joined, page, widgets } from './cacher-fixtures.js';
import { commit, everything, put } from './fixtures.js';
import { mountSmallDisk, unmount, whyNoSmallDisk } from './small-disk.js';

const KEEP = 10_000;
let directory: string;
let clock: FakeClock;
let file: ColdFile;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'annex-cold-'));
  clock = new FakeClock();
  file = new ColdFile({ directory, clock, keepMillis: KEEP });
  await file.open();
});
afterEach(async () => {
  await file.close();
  rmSync(directory, { recursive: true });
});

const state = (revision: number, text: string) => ({ revision, flags: 1, bytes: Buffer.from(text) });
const textOf = (type: AtHand, revision: number): string | undefined => {
  const stored = type.read('a/k', revision);
  return stored === undefined ? undefined : (stored.unreadable ?? Buffer.from(stored.bytes).toString());
};
const typeOf = (): AtHand => file.typeOf(() => Promise.resolve(1));

test('states are read as they were put in, each type its own', () => {
  const [one, two] = [typeOf(), typeOf()];
  expect(one.keep?.([state(7, 'seven'), state(2 ** 40, 'late')])).toBe(true);
  expect(one.read('a/k', 7)).toMatchObject({ key: 'a/k', revision: 7, flags: 1 });
  expect([textOf(one, 7), textOf(one, 2 ** 40), textOf(one, 8), textOf(two, 7)]).toEqual([
    'seven',
    'late',
    undefined,
    undefined,
  ]);
  expect(statSync(join(directory, 'cold.mdb')).mode & 0o77).toBe(0);
});

test('what has a successor is there for a while', () => {
  const type = typeOf();
  type.keep?.([state(1, 'one'), state(2, 'two')]);
  type.forget?.(1);
  clock.advance(KEEP - 1);
  expect(textOf(type, 1)).toBe('one');
  clock.advance(2_000);
  expect([textOf(type, 1), textOf(type, 2)]).toEqual([undefined, 'two']);
});

test('a type that is read anew has what it had for a while, then only what it was given since', async () => {
  const type = typeOf();
  type.keep?.(Array.from({ length: 1_200 }, (_, i) => state(i + 1, 'old')));
  await type.walk(() => undefined);
  type.keep?.([state(1_201, 'new')]);
  expect([textOf(type, 3), textOf(type, 1_201)]).toEqual(['old', 'new']);
  clock.advance(KEEP + 2_000);
  for (let i = 0; i < 5; i++) clock.advance(1_000);
  expect([textOf(type, 3), textOf(type, 1_200), textOf(type, 1_201)]).toEqual([undefined, undefined, 'new']);
});

test('nothing outlives the process, and two processes do not share a directory', async () => {
  const type = typeOf();
  type.keep?.([state(1, 'one')]);
  const other = new ColdFile({ directory, clock });
  await expect(other.open()).rejects.toThrow(/of --cache-dir cannot be used: .* is in use by another process/);
  await file.close();
  expect(textOf(type, 1)).toBeUndefined();
  await file.open();
  expect(textOf(type, 1)).toBeUndefined();
});

const noDisk = whyNoSmallDisk();

describe('without room', () => {
  const ROOM = 100 << 20;
  const bytes = Buffer.alloc(200_000, 'x');
  const stateOf = (revision: number) => ({ revision, flags: 0, bytes });

  function ticks(count: number): void {
    for (let i = 0; i < count; i++) clock.advance(1_000);
  }

  async function fillsAndEmpties(small: ColdFile): Promise<void> {
    await small.open();
    const type = small.typeOf(() => Promise.resolve(1));
    let kept = 0;
    while (kept < 1_000 && type.keep?.([stateOf(kept + 1)]) === true) kept++;
    expect(small.state()).toEqual({
      ok: false,
      reason: expect.stringMatching(/leaves \d+ MiB, of which 32 MiB stay free/) as string,
    });
    expect(kept).toBeGreaterThan(200);
    const found = Array.from({ length: kept }, (_, i) => type.read('a/k', i + 1)?.bytes.length);
    expect(new Set(found)).toEqual(new Set([bytes.length]));
    ticks(5);
    expect([small.state().ok, type.keep?.([stateOf(1_001)])]).toEqual([false, false]);
    for (let i = 1; i <= kept; i++) type.forget?.(i);
    ticks(KEEP / 1_000 + 5);
    expect([small.state().ok, type.keep?.([stateOf(1_002)])]).toEqual([true, true]);
    expect(type.read('a/k', 1_002)?.bytes.length).toBe(bytes.length);
    await small.close();
  }

  test('at its limit it says so and takes nothing; what it has can be read; what it removes is room again', () =>
    fillsAndEmpties(new ColdFile({ directory: join(directory, 'small'), clock, keepMillis: KEEP, limit: ROOM })));

  const onDisk = noDisk === undefined ? test : test.skip;
  onDisk(`on a full disk likewise${noDisk === undefined ? '' : `: ${noDisk}`}`, async () => {
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
    const type = file.typeOf(async (visit) => {
      const list = await real.list(widgets.resource, everything);
      list.items.forEach(visit);
      return list.revision;
    });
    backend = Object.assign(Object.create(real) as Backend, { atHand: () => type });
    // More than one leaf: the first object of a load is held in memory.
    const names = [...Array.from({ length: 300 }, (_, i) => `f${i}`), 'one', 'two'];
    await Promise.all(names.map((name) => commit(backend, put(`a/${name}`, 0, { text: `the text of ${name}` }))));
    cacher = new StorageCacher({ backend, warmth: new Warmth(0) });
    await cacher.start();
  });
  afterEach(async () => {
    await cacher.stop();
    await backend.close();
    rmSync(store, { recursive: true });
  });
  const newest = { mode: 'most-recent' } as const;

  test('a damaged file costs one answer: the type is read from the store again', async () => {
    const cache = cacher.add(widgets);
    await cache.ready();
    expect(joined(await cache.list(newest, page()), identity)).toContain('the text of two');
    const path = join(directory, 'cold.mdb');
    const bytes = readFileSync(path);
    for (let at = bytes.indexOf('the text of two'); at >= 0; at = bytes.indexOf('the text of two', at + 1))
      bytes.write('X', at);
    writeFileSync(path, bytes);
    const get = async (): Promise<string> => Buffer.from((await cache.get('a/two', newest))?.bytes ?? []).toString();
    await expect(get()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('a/two') as string,
    });
    expect(await get()).toContain('the text of two');
    expect(joined(await cache.list(newest, page()), identity)).toContain('the text of two');
  });
});
