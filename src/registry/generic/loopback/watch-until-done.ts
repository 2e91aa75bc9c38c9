import type { Watcher, WatchEvent } from '../../../storage/cacher/interfaces.js';
import { EVERYTHING } from '../../../apimachinery/selectors/selection-predicate.js';
import type { ResourceStore } from '../store/resource-store.js';

type Cache = Pick<ResourceStore['cache'], 'watch'>;

/** Watches all objects of a type without a deadline. An object that cannot be decoded must not keep the controllers from the others. */
export const WATCH_ALL = {
  prefix: '',
  predicate: EVERYTHING,
  bookmarks: false,
  deadline: Infinity,
  showsUndecodable: true,
};

/** Delivers the events of one watch. Resolves when the watch ends or the signal aborts; rejects if the watch cannot start. */
export async function watchUntilDone(
  cache: Cache,
  options: Parameters<Cache['watch']>[0],
  signal: AbortSignal,
  onEvent: (event: WatchEvent) => void,
): Promise<void> {
  let watcher: Watcher | undefined;
  let stop = (): void => undefined;
  const over = new Promise<void>((resolve, reject) => {
    stop = resolve;
    signal.addEventListener('abort', stop, { once: true });
    const receive = (events: readonly WatchEvent[]): boolean => {
      for (const event of events) onEvent(event);
      return true;
    };
    cache.watch(options, { receive, ended: stop }).then((started) => {
      watcher = started;
    }, reject);
  });
  try {
    await over;
  } finally {
    signal.removeEventListener('abort', stop);
    watcher?.stop();
  }
}
