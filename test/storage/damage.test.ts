import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { joined, identity, page, widgets } from './cacher-fixtures.js';
import { commit, put, RESOURCE } from './fixtures.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'annex-damage-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Changes one byte of what a text in the store's file says. */
function damage(text: string): void {
  const path = join(directory, 'data.mdb');
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) bytes.write('X', at);
  writeFileSync(path, bytes);
}

test('an object whose record was damaged on the disk is reported by its key, and the rest is served', async () => {
  let backend = new EmbeddedBackend({ directory });
  await backend.open();
  for (const name of ['one', 'two', 'three'])
    await commit(backend, put(`a/${name}`, 0, { text: `the text of ${name}` }));
  await backend.close();
  // It is JSON as before: nothing but a checksum tells.
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
  // The way out: what cannot be read can be deleted.
  const deleted = await backend.write({ resource: RESOURCE, key: 'a/two', expected: 3, value: undefined });
  expect(deleted.outcome).toBe('committed');
  expect((await cache.list(newest, page())).length).toBe(2);
  await cacher.stop();
  await backend.close();
});
