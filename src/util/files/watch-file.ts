import { watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, Timer } from '../clock.js';

/** Editors and volume mounts change a file in several steps; one call for all of them. */
const SETTLE_MILLIS = 50;

/**
 * Calls back when the file may have changed, also by replacement (the folder is watched, as mounted configurations are replaced
 * through links in it). Without the means to watch nothing is called: whoever uses it looks from time to time besides.
 */
export function watchFile(path: string, changed: () => void, clock: Clock, signal: AbortSignal): void {
  if (signal.aborted) return;
  let settle: Timer | undefined;
  let watcher: FSWatcher;
  try {
    watcher = watch(dirname(path), { persistent: false }, () => {
      settle ??= clock.setTimer(SETTLE_MILLIS, () => {
        settle = undefined;
        if (!signal.aborted) changed();
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
