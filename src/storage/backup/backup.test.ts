import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BLOCK_BYTES, decodeHeader, encodeHeader, type BackupHeader, type BackupObject, typeOf } from './format.js';
import type { BackupSource, RestoreTarget } from './interfaces.js';
import { restoreBackup, type Restored, type RestoreOptions } from './restore.js';
import { writeBackup } from './writer.js';

const TIME = '2026-11-22T10:00:00.000Z';
const HOUR = 3_600_000;

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'annex-backup-'));
  path = join(directory, 'a.backup');
});
afterEach(() => rmSync(directory, { recursive: true }));

const objectOf = (type: string, key: string, revision: number, text = `{"n":${revision}}`): BackupObject => ({
  type,
  key,
  revision,
  record: Buffer.concat([Buffer.from([1, 0]), Buffer.from(text)]),
});

function sourceOf(objects: readonly BackupObject[], more: Partial<BackupHeader> = {}): BackupSource {
  const names = [...new Set(objects.map(({ type }) => type))];
  const types = names.map((name) => typeOf(name, objects.filter(({ type }) => type === name).length));
  return {
    header: { revision: 100, types, time: TIME, ...more },
    objects: async function* () {
      for (const object of objects) yield await Promise.resolve([object]);
    },
    close: () => Promise.resolve(),
  };
}

async function written(source: BackupSource): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await writeBackup(
    source,
    (bytes) => Promise.resolve(void chunks.push(Buffer.from(bytes))),
    () => undefined,
  );
  return Buffer.concat(chunks);
}

/** Keeps what is restored, and the steps. */
class KeepingTarget implements RestoreTarget {
  readonly steps: string[] = [];
  readonly objects: BackupObject[] = [];
  begin(): Promise<void> {
    return Promise.resolve(void this.steps.push('begin'));
  }
  put(objects: readonly BackupObject[]): Promise<void> {
    this.objects.push(...objects.map((object) => ({ ...object, record: Buffer.from(object.record) })));
    return Promise.resolve();
  }
  finish(above: number): Promise<void> {
    return Promise.resolve(void this.steps.push(`finish ${above}`));
  }
  close(): Promise<void> {
    return Promise.resolve(void this.steps.push('close'));
  }
}

async function restored(
  bytes: Uint8Array,
  target: RestoreTarget,
  options: Partial<RestoreOptions> = {},
): Promise<Restored> {
  writeFileSync(path, bytes);
  const file = await open(path, 'r');
  const clock = { now: () => Date.parse(TIME) };
  const step = (): void => undefined;
  try {
    return await restoreBackup(file, {
      ...{ clock, wants: () => true, continueAbove: 0, target: () => target, step },
      ...options,
    });
  } finally {
    await file.close();
  }
}

const few = [
  objectOf('configmaps', 'a/x', 7),
  objectOf('widgets.example.com', 'ä', 9),
  objectOf('widgets.example.com', 'b', 3),
];
few.sort((a, b) => Buffer.from(`${a.type}\0${a.key}`).compare(Buffer.from(`${b.type}\0${b.key}`)));

test('the first line is JSON, and every object comes back', async () => {
  const large = objectOf('widgets.example.com', 'ö', 90, 'x'.repeat(3 * BLOCK_BYTES));
  const many = Array.from({ length: 3_000 }, (_, i) =>
    objectOf('y.example.com', `k${10_000 + i}`, 1_000 + i, 'y'.repeat(999)),
  );
  const objects = [...few, large, ...many];
  const bytes = await written(sourceOf(objects, { logs: [{ name: 'reports', revision: 6_000 }], cluster: 'uid' }));
  expect(JSON.parse(bytes.subarray(0, bytes.indexOf('\n')).toString())).toEqual({
    format: 'annex backup',
    version: 1,
    revision: 100,
    types: [
      { group: '', resource: 'configmaps', count: 1 },
      { group: 'example.com', resource: 'widgets', count: 3 },
      { group: 'example.com', resource: 'y', count: 3_000 },
    ],
    time: TIME,
    logs: [{ name: 'reports', revision: 6_000 }],
    cluster: 'uid',
  });
  const target = new KeepingTarget();
  const { newest } = await restored(bytes, target);
  expect(newest).toBe(6_000);
  expect(target.objects).toEqual(objects);
  expect(target.steps).toEqual(['begin', `finish ${6_000 + 10_000 * 3_600}`, 'close']);
});

test('the store continues above all that the lost one can have reached, or above what the operator says', async () => {
  const bytes = await written(sourceOf(few));
  const above = async (options: Partial<RestoreOptions>): Promise<number> =>
    (await restored(bytes, new KeepingTarget(), options)).above;
  expect(await above({ clock: { now: () => Date.parse(TIME) + 48 * HOUR } })).toBe(100 + 48 * 3_600 * 10_000);
  // A clock may be behind.
  expect(await above({ clock: { now: () => 0 } })).toBe(100 + 3_600 * 10_000);
  expect(await above({ continueAbove: 500 })).toBe(500);
  expect(await above({ continueAbove: 50 })).toBe(100);
});

test('some types of a backup can be restored', async () => {
  const target = new KeepingTarget();
  const { restored: count } = await restored(await written(sourceOf(few)), target, {
    wants: (type) => type === 'configmaps',
  });
  expect(count).toBe(1);
  expect(target.objects.map(({ key }) => key)).toEqual(['a/x']);
});

test('a backup that is damaged at any byte, cut anywhere or followed by anything is refused before anything is written', async () => {
  const bytes = await written(sourceOf(few));
  const outcomes = new Map<string, number>();
  const refused = async (damaged: Uint8Array): Promise<void> => {
    const target = new KeepingTarget();
    const message = await restored(damaged, target).then(
      () => 'it was restored',
      (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
    );
    expect([target.steps, target.objects]).toEqual([[], []]);
    const kind = message.replace(/\d+/g, 'N');
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
  };
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of [1, 0x80]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ bit;
      await refused(damaged);
    }
    await refused(bytes.subarray(0, at));
  }
  await refused(Buffer.concat([bytes, Buffer.from([0])]));
  await refused(Buffer.concat([bytes, bytes]));
  expect([...outcomes.keys()].filter((kind) => !/^BackupError: its? /.test(kind))).toEqual([]);
  expect([...outcomes.values()].reduce((a, b) => a + b)).toBe(3 * bytes.length + 2);
});

test('intact blocks under another first line are refused', async () => {
  const bytes = (await written(sourceOf(few))).toString('latin1').replace('"revision":100', '"revision":200');
  await expect(restored(Buffer.from(bytes, 'latin1'), new KeepingTarget())).rejects.toThrow(
    'it is damaged: its parts do not belong together',
  );
});

test('a source that yields other objects than its header says makes no backup that can be restored', async () => {
  const { header } = sourceOf(few);
  for (const objects of [few.slice(1), [...few].reverse(), [...few, ...few.slice(-1)]]) {
    const bytes = await written({ ...sourceOf(objects), header });
    await expect(restored(bytes, new KeepingTarget())).rejects.toThrow(
      /it is damaged: objects are (missing|not in order)/,
    );
  }
});

test('a backup of a newer version is told from a damaged one', () => {
  const line = encodeHeader({ revision: 1, types: [], time: TIME }).toString();
  expect(() => decodeHeader(Buffer.from(line.replace('"version":1', '"version":2')))).toThrow(
    'it has version 2, and this version of Annex reads 1: use a newer one',
  );
  expect(() => decodeHeader(Buffer.from('{"kind":"List"}\n'))).toThrow('it is not a backup of Annex');
});

test('a write that fails ends the backup', async () => {
  const full = () => Promise.reject(new Error('no space left'));
  await expect(writeBackup(sourceOf(few), full, () => undefined)).rejects.toThrow('no space left');
});
