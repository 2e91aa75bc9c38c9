import { Progress } from './progress.js';

function watched(isTTY: boolean) {
  const clock = { now: 0, monotonic: () => clock.now };
  const written: string[] = [];
  const progress = new Progress(clock, { isTTY, write: (text) => written.push(text) });
  const at = (millis: number, done: number): void => {
    clock.now = millis;
    progress.step(done, 40, 'files read');
  };
  return { written, at, progress };
}

test('prints nothing within the first two seconds', () => {
  const { written, at, progress } = watched(true);
  at(0, 0);
  at(1_999, 39);
  progress.clear();
  expect(written).toEqual([]);
});

test('without a terminal, prints a line every two seconds', () => {
  const { written, at, progress } = watched(false);
  for (let millis = 0; millis <= 5_000; millis += 500) at(millis, millis / 500);
  progress.clear();
  expect(written).toEqual(['4 of 40 files read\n', '8 of 40 files read\n']);
});

test('on a terminal, redraws a bar five times a second, and clears it at the end', () => {
  const { written, at, progress } = watched(true);
  for (let millis = 1_900; millis <= 2_400; millis += 100) at(millis, millis / 100);
  progress.clear();
  progress.clear();
  const bar = (filled: number, done: number): string =>
    `\r\u001b[K${'█'.repeat(filled)}${'░'.repeat(30 - filled)} ${done} of 40 files read`;
  expect(written).toEqual([bar(15, 20), bar(16, 22), bar(18, 24), '\r\u001b[K']);
});
