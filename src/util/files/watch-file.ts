import { watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, Timer } from '../clock.js';

/** The time over which changes are combined into one call: editors and volume mounts change a file in several steps. */
const SETTLE_MILLIS = 50;

/**
 * Calls back when the file may have changed or was replaced. It watches the folder, because mounted configurations are replaced through
 * links in it. If the folder cannot be watched, it never calls back, so callers also have to check the file periodically.
 */
export function watchFile(path: string, onChange: () => void, clock: Clock, signal: AbortSignal): void {
  if (signal.aborted) return;
  let settle: Timer | undefined;
  let watcher: FSWatcher;
  try {
    watcher = watch(dirname(path), { persistent: false }, () => {
      settle ??= clock.setTimer(SETTLE_MILLIS, () => {
        settle = undefined;
        if (!signal.aborted) onChange();
      });
    });
  } catch {
    return;
  }
  const stop = (): void => {
    settle?.cancel();
    watcher.close();
  };
  watcher.on('error', stop);
  signal.addEventListener('abort', stop, { once: true });
}
