import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../clock.js';
import { watchFile } from './watch-file.js';

test('notices a written and a replaced file, and nothing after the end', async () => {
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
  // A second watch is notified after the first one would be.
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

test('a missing folder is not an error', () => {
  expect(() => {
    watchFile('/nowhere/at/all', () => undefined, systemClock, new AbortController().signal);
  }).not.toThrow();
});
