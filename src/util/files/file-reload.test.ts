import { FakeClock } from '../../../test/fakes/util/clock.js';
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
  test('reloads immediately after a change, and after a minute without one', async () => {
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

  test('changes during a reload cause one more reload, not two at once', async () => {
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

  test('does not reload after the end, even for an earlier change', async () => {
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
