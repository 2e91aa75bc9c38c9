import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import type { EncryptionObserver } from './build.js';
import { Encryption } from './encryption.js';

const MINUTE = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'annex-reload-'));
const path = join(folder, 'encryption.yaml');
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const secret = (byte: number): string => Buffer.alloc(32, byte).toString('base64');

/** Writes a configuration in which the first key encrypts. */
function write(...keys: number[]): void {
  const aesgcm = { keys: keys.map((byte) => ({ name: `key${byte}`, secret: secret(byte) })) };
  const resources = [{ resources: ['secrets'], providers: [{ aesgcm }] }];
  writeFileSync(
    path,
    JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources }),
  );
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function started(reload: boolean): { encryption: Encryption; clock: FakeClock; log: string[] } {
  const clock = new FakeClock();
  const log: string[] = [];
  const encryption = new Encryption({
    path,
    reload,
    clock,
    observer: { transformed: () => undefined } as unknown as EncryptionObserver,
    failed: () => undefined,
    onActiveHash: () => log.push('in use'),
    reloaded: (error) => log.push(error === undefined ? 'reloaded' : error.message),
  });
  encryption.onChange(() => log.push('changed'));
  return { encryption, clock, log };
}

const context = Buffer.from('/secrets/ns/a');
const sealed = async (encryption: Encryption): Promise<Uint8Array> =>
  (await encryption.of('secrets')?.toStorage(Buffer.from('{}'), context)) ?? Buffer.of();

test('a changed file is loaded within a minute: the new key writes, and the old one still reads', async () => {
  write(1);
  const { encryption, clock, log } = started(true);
  await encryption.start();
  const old = await sealed(encryption);
  write(2, 1);
  clock.advance(MINUTE);
  await settle();
  expect(log).toEqual(['in use', 'in use', 'changed', 'reloaded']);
  expect(Buffer.from(await sealed(encryption)).toString()).toContain('k8s:enc:aesgcm:v1:key2:');
  const read = await encryption.of('secrets')?.fromStorage(old, context);
  expect([String(read?.data), read?.stale]).toEqual(['{}', true]);
  // An unchanged file is not loaded again.
  clock.advance(MINUTE);
  await settle();
  expect(log).toHaveLength(4);
  encryption.close();
});

test('an unusable file is not loaded, and is retried sooner', async () => {
  write(1);
  const { encryption, clock, log } = started(true);
  await encryption.start();
  writeFileSync(path, '{');
  clock.advance(MINUTE);
  await settle();
  expect(log).toEqual(['in use', expect.stringContaining('error decoding encryption provider configuration file')]);
  expect(Buffer.from(await sealed(encryption)).toString()).toContain(':key1:');
  write(2, 1);
  clock.advance(1_000);
  await settle();
  expect(log.slice(2)).toEqual(['in use', 'changed', 'reloaded']);
  encryption.close();
});

test('without the flag the file is read once', async () => {
  write(1);
  const { encryption, clock, log } = started(false);
  await encryption.start();
  write(2, 1);
  clock.advance(10 * MINUTE);
  await settle();
  expect(log).toEqual(['in use']);
  encryption.close();
});
