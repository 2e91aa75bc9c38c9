import type {
  Backend,
  ListOptions,
  LocalStates,
  LocalStateSource,
  LogEvent,
  Revision,
  StoredList,
  StoredObject,
} from '../../src/storage/interfaces.js';
import { layered } from '../../src/storage/layered.js';

/** Wraps a real backend for a cacher, and controls what the cacher receives. */
export class Interposed {
  readonly backend: Backend;
  /** Lists wait for this promise. */
  private held: Promise<void> | undefined;
  private holdsPages = true;
  /** Replacements for the results of the next lists, or their errors. */
  readonly lists: ((list: StoredList) => StoredList)[] = [];
  /** The number of upcoming requests for the newest revision that fail. */
  refused = 0;
  listed = 0;
  asked = 0;
  private silent = false;
  private breaking: { readonly error: Error | undefined; readonly skip: number } | undefined;
  private wake: (() => void) | undefined;

  constructor(real: Backend) {
    const { localStates } = real;
    this.backend = layered(real, {
      list: (resource, options) => this.list(real, resource, options),
      localStates: localStates && { of: (resource) => this.statesOf(localStates, real, resource) },
      currentRevision: () => this.currentRevision(real),
      // The cacher lags behind the store here, so it must ask for the revision.
      revisionNow: () => undefined,
      events: (after, signal) => this.events(real, after, signal),
    });
  }

  /** Holds back all events of the stream. */
  silence(): void {
    this.silent = true;
  }

  /** Resumes the stream: it fails with an error, or skips events. */
  lose(error: Error | undefined, skip = 0): void {
    this.breaking = { error, skip };
    this.silent = false;
    this.wake?.();
  }

  /** Holds back all lists until the returned function is called. Without `pages`, holds back only unlimited lists at the newest revision. */
  hold(pages = true): () => void {
    this.holdsPages = pages;
    let release = (): void => undefined;
    this.held = new Promise((resolve) => (release = resolve));
    return release;
  }

  private async list(real: Backend, resource: string, options: ListOptions): Promise<StoredList> {
    this.listed++;
    if (this.holdsPages || (options.limit === 0 && options.revision === 0)) await this.held;
    const list = await real.list(resource, options);
    return this.lists.shift()?.(list) ?? list;
  }

  /** Walks count as lists, and are held back and replaced like them. */
  private statesOf(source: LocalStateSource, real: Backend, resource: string): LocalStates | undefined {
    const inner = source.of(resource);
    if (inner === undefined) return undefined;
    const walk = async (visit: (object: StoredObject) => void): Promise<Revision> => {
      const list = await this.list(real, resource, { prefix: '', from: '', limit: 0, revision: 0 });
      for (const object of list.items) visit(object);
      return list.revision;
    };
    return { read: (key, revision) => inner.read(key, revision), walk, copy: undefined };
  }

  private async currentRevision(real: Backend): Promise<Revision> {
    this.asked++;
    if (this.refused > 0) {
      this.refused--;
      throw new Error('the store does not answer');
    }
    return real.currentRevision();
  }

  private async *events(
    real: Backend,
    after: Revision,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LogEvent[], void, undefined> {
    const source = real.events(after, signal)[Symbol.asyncIterator]();
    let next = source.next();
    try {
      for (;;) {
        while (this.silent && !signal.aborted) await this.woken(signal);
        const { breaking } = this;
        if (breaking?.error !== undefined) {
          this.breaking = undefined;
          throw breaking.error;
        }
        const result = await Promise.race([next, this.woken(signal)]);
        this.wake?.();
        if (result === undefined) continue;
        if (result.done === true) return;
        // Events that arrived while the stream was silent are delivered later.
        if (this.silent || this.breaking?.error !== undefined) continue;
        next = source.next();
        const { skip = 0 } = this.breaking ?? {};
        this.breaking = undefined;
        if (result.value.length > skip) yield result.value.slice(skip);
      }
    } finally {
      await source.return?.();
    }
  }

  private woken(signal: AbortSignal): Promise<undefined> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        resolve(undefined);
      };
      this.wake = wake;
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
