import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from './clock.js';
import { watchFile } from './watch-file.js';

test('a written and a replaced file are noticed, nothing after the end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'watch-'));
  const file = join(folder, 'a');
  writeFileSync(file, '1');
  const stop = new AbortController();
  let calls = 0;
  let wake = (): void => undefined;
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  watchFile(
    file,
    () => {
      calls++;
      wake();
    },
    systemClock,
    stop.signal,
  );
  let noticed = next();
  writeFileSync(file, '2');
  await noticed;
  noticed = next();
  writeFileSync(join(folder, 'b'), '3');
  renameSync(join(folder, 'b'), file);
  await noticed;
  stop.abort();
  const before = calls;
  writeFileSync(file, '4');
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(calls).toBe(before);
  rmSync(folder, { recursive: true });
});

test('a folder that does not exist is no error', () => {
  expect(() => {
    watchFile('/nowhere/at/all', () => undefined, systemClock, new AbortController().signal);
  }).not.toThrow();
});
