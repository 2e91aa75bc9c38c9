import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../clock.js';
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
  // What the first would be told, a second is told after it.
  const end = new AbortController();
  watchFile(
    file,
    () => {
      wake();
    },
    systemClock,
    end.signal,
  );
  for (const text of ['4', '5']) {
    noticed = next();
    writeFileSync(file, text);
    await noticed;
  }
  expect(calls).toBe(before);
  end.abort();
  rmSync(folder, { recursive: true });
});

test('a folder that does not exist is no error', () => {
  expect(() => {
    watchFile('/nowhere/at/all', () => undefined, systemClock, new AbortController().signal);
  }).not.toThrow();
});
