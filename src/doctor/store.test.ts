import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedBackend } from '../storage/embedded/backend.js';
import { systemClock } from '../util/clock.js';
import { lineOf } from './finding.js';
import { checkStore } from './store.js';

describe('checkStore', () => {
  let dataDir = '';
  beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'annex-doctor-'))));
  afterEach(() => {
    rmSync(dataDir, { recursive: true });
  });

  const check = async (
    over: { storageBackend?: string; mongodbUri?: string; mongodbUriFile?: string } = {},
  ): Promise<string> => {
    const options = {
      storageBackend: 'embedded',
      mongodbUri: '',
      mongodbUriFile: '',
      mongodbDatabase: 'annex',
      mongodbLogOverrides: [],
      mongodbFormerCluster: '',
      mongodbContinueAbove: 0,
    };
    const rest = { dataDir, historyWindow: 300_000, given: new Set<string>() };
    return lineOf(await checkStore({ ...options, ...rest, ...over }, systemClock));
  };
  const open = async (): Promise<EmbeddedBackend> => {
    const backend = new EmbeddedBackend({ directory: join(dataDir, 'store'), clock: systemClock });
    await backend.open();
    return backend;
  };

  test('a store that does not exist yet is not created', async () => {
    expect(await check()).toBe(`store: ok (${join(dataDir, 'store')}, created at the first start)`);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test('a store that is not in use is opened and closed again', async () => {
    await (await open()).close();
    expect(await check()).toBe(`store: ok (${join(dataDir, 'store')}, at revision 1)`);
    await (await open()).close();
  });

  test('a store that a server has open is skipped', async () => {
    const backend = await open();
    expect(await check()).toMatch(/^store: skipped \(.* is in use by a running server/);
    await backend.health.ping();
    await backend.close();
  });

  test('a directory that is not a store is reported', async () => {
    mkdirSync(join(dataDir, 'store'));
    writeFileSync(join(dataDir, 'store', 'thesis.txt'), '');
    expect(await check()).toMatch(/^store: failed: .* is not a data directory of Annex .*; fix: /);
  });

  test.each([
    ['no URI', '', 'requires --mongodb-uri'],
    ['a malformed URI', 'http://127.0.0.1', 'the MongoDB URI is malformed'],
  ])('MongoDB: %s', async (_, mongodbUri, message) => {
    const line = await check({ storageBackend: 'mongodb', mongodbUri });
    expect(line).toMatch(/^store: failed: .*; fix: /);
    expect(line).toContain(message);
  });

  test.each([
    'mongodb://annex:s3cr3t@127.0.0.1:1/',
    'mongodb://annex:s3cr3t@127.0.0.1:1/?appName=a@b',
    'mongodb://annex:s3cr3t/@127.0.0.1:1/',
    'mongodb://annex:s3cr3t%zz@127.0.0.1:1/',
    'mongodb:/annex:s3cr3t@127.0.0.1:1/',
    'mongodb//annex:s3cr3t@127.0.0.1:1/',
    'MONGODB://annex:s3cr3t@127.0.0.1:1/',
    'annex:s3cr3t@127.0.0.1:1',
    'mongodb://annex:s3cr3t@@127.0.0.1:1/?journal=false',
    'mongodb://annex:s3cr3t@127.0.0.1:1/?unknown=s3cr3t',
  ])('the password in a URI is not shown: %s', async (uri) => {
    const mongodbUri = uri.includes('?')
      ? `${uri}&serverSelectionTimeoutMS=200`
      : `${uri}?serverSelectionTimeoutMS=200`;
    const line = await check({ storageBackend: 'mongodb', mongodbUri });
    expect(line).toMatch(/^store: failed: /);
    expect(line).not.toContain('s3cr3t');
  });

  test('a URI given as a path is not shown', async () => {
    const line = await check({ storageBackend: 'mongodb', mongodbUriFile: 'mongodb://annex:s3cr3t@127.0.0.1:1/' });
    expect(line).toMatch(/^store: failed: --mongodb-uri-file invalid: takes the path of a file/);
    expect(line).not.toContain('s3cr3t');
  });
});
