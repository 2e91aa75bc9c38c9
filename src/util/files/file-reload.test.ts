import { FakeClock } from '../clock.fake.js';
import { reloadOnChange } from './file-reload.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function setting() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const started: (() => void)[] = [];
  let changed = (): void => undefined;
  reloadOnChange(
    {
      watch: (callback) => (changed = callback),
      reload: () => new Promise((resolve) => started.push(resolve)),
      clock,
    },
    stop.signal,
  );
  return { clock, stop, started, changed: () => changed() };
}

describe('reloadOnChange', () => {
  test('a change is read at once, and a minute without one too', async () => {
    const { clock, started, changed } = setting();
    expect(started).toHaveLength(0);
    changed();
    expect(started).toHaveLength(1);
    started[0]?.();
    await settled();
    for (const readings of [2, 3]) {
      clock.advance(59_999);
      await settled();
      expect(started).toHaveLength(readings - 1);
      clock.advance(1);
      await settled();
      expect(started).toHaveLength(readings);
      started[readings - 1]?.();
      await settled();
    }
  });

  test('changes during a reading set off one more, not two at once', async () => {
    const { started, changed } = setting();
    changed();
    changed();
    changed();
    expect(started).toHaveLength(1);
    started[0]?.();
    await settled();
    expect(started).toHaveLength(2);
    started[1]?.();
    await settled();
    expect(started).toHaveLength(2);
  });

  test('after the end nothing is read, not even what was seen before', async () => {
    const { clock, stop, started, changed } = setting();
    changed();
    changed();
    stop.abort();
    started[0]?.();
    await settled();
    changed();
    clock.advance(120_000);
    await settled();
    expect(started).toHaveLength(1);
  });
});
