import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRecords } from '../../src/doctor/records.js';
import { lineOf } from '../../src/doctor/finding.js';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { joined, identity, page, widgets } from './cacher-fixtures.js';
import { commit, put, remove, RESOURCE } from './fixtures.js';
import { systemClock } from '../../src/util/clock.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'annex-damage-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Changes one byte of every occurrence of a text in the store's file. */
function damage(text: string, path = join(directory, 'data.mdb')): void {
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) bytes.write('X', at);
  writeFileSync(path, bytes);
}

test('an object with a damaged record is reported by its key, and the rest is served', async () => {
  let backend = new EmbeddedBackend({ directory });
  await backend.open();
  for (const name of ['one', 'two', 'three'])
    await commit(backend, put(`a/${name}`, 0, { text: `the text of ${name}` }));
  await backend.close();
  // The record is still valid JSON, so only its checksum reveals the damage.
  damage('the text of two');

  backend = new EmbeddedBackend({ directory });
  await backend.open();
  const cacher = new StorageCacher({ backend });
  await cacher.start();
  const cache = cacher.add(widgets);
  await cache.ready();
  const newest = { mode: 'most-recent' } as const;
  expect((await cache.get('a/one', newest))?.undecodable).toBe(false);
  expect(await cache.get('a/two', newest)).toMatchObject({
    undecodable: true,
    unreadable: 'the record of revision 3 is damaged',
  });
  await expect(cache.list(newest, page())).rejects.toMatchObject({
    code: 'corrupt',
    info: { undecodable: [{ key: 'a/two', revision: 3 }] },
  });
  expect(joined(await cache.list(newest, page({ prefix: 'a/o' })), identity)).toContain('the text of one');
  // An object that cannot be read can still be deleted.
  const deleted = await backend.write({ resource: RESOURCE, key: 'a/two', expected: 3, value: undefined });
  expect(deleted.outcome).toBe('committed');
  expect((await cache.list(newest, page())).length).toBe(2);
  await cacher.stop();
  await backend.close();
});

describe('annex doctor --verify-store', () => {
  const check = async (storageBackend = 'embedded'): Promise<string> => {
    const mongodb = {
      mongodbUri: '',
      mongodbUriFile: '',
      mongodbDatabase: 'annex',
      mongodbLogOverrides: [],
      mongodbFormerCluster: '',
      mongodbContinueAbove: 0,
    };
    const options = {
      storageBackend,
      dataDir: directory,
      historyWindow: 300_000,
      given: new Set<string>(),
      ...mongodb,
    };
    return lineOf(await checkRecords(options, systemClock, () => undefined));
  };
  const store = (): string => join(directory, 'store');
  const opened = async (): Promise<EmbeddedBackend> => {
    const backend = new EmbeddedBackend({ directory: store() });
    await backend.open();
    return backend;
  };
  beforeEach(async () => {
    const backend = await opened();
    const { revision } = await commit(backend, put('a/one', 0, { text: 'the former text of one' }));
    await commit(backend, put('a/one', revision, { text: 'the text of one' }));
    await commit(backend, put('a/two', 0, { text: 'the text of two' }));
    await commit(backend, put('b/three', 0, { text: 'the text of three' }, 'gadgets.example.com'));
    const gone = await commit(backend, put('a/gone', 0));
    await commit(backend, remove('a/gone', gone.revision));
    await backend.close();
  });

  test('reports a sound store', async () => {
    expect(await check()).toMatch(/^records: ok \(6 records of 3 objects, \d+\.\d MiB\)$/);
  });

  test('lists damaged objects of each type', async () => {
    damage('the text of two', join(store(), 'data.mdb'));
    damage('the text of three', join(store(), 'data.mdb'));
    expect(await check()).toBe(
      'records: failed: 2 of 3 objects cannot be read: gadgets.example.com b/three (revision 5: damaged); ' +
        'widgets.example.com a/two (revision 4: damaged); fix: delete and recreate them, or restore the directory from a backup',
    );
  });

  test('damaged history without current objects is only a warning', async () => {
    damage('the former text of one', join(store(), 'data.mdb'));
    expect(await check()).toMatch(/^records: warning \(.*; 1 damaged records in the history, which no object needs\)$/);
  });

  test('skips a store in use, and a store in MongoDB', async () => {
    const backend = await opened();
    expect(await check()).toMatch(/^records: skipped \(.* is in use by a running server/);
    await backend.close();
    expect(await check('mongodb')).toMatch(/^records: skipped \(MongoDB verifies/);
  });
});
