import type {
  LocalStates,
  Backend,
  EventStream,
  ListOptions,
  LogEvent,
  Revision,
  StoredList,
  StoredObject,
} from '../../src/storage/interfaces.js';

/** A real backend for a cacher, with a hand on what it tells. */
export class Interposed {
  readonly backend: Backend;
  /** Lists wait for it. */
  private held: Promise<void> | undefined;
  private holdsPages = true;
  /** What the next lists fail with, or say instead. */
  readonly lists: ((list: StoredList) => StoredList)[] = [];
  /** Questions for the newest revision that fail. */
  refused = 0;
  listed = 0;
  asked = 0;
  private silent = false;
  private breaking: { readonly error: Error | undefined; readonly skip: number } | undefined;
  private wake: (() => void) | undefined;

  constructor(real: Backend) {
    this.backend = Object.assign(Object.create(real) as Backend, {
      list: (resource: string, options: ListOptions) => this.list(real, resource, options),
      ...(real.atHand === undefined ? {} : { atHand: (resource: string) => this.atHand(real, resource) }),
      currentRevision: () => this.currentRevision(real),
      // It may lag behind the store here, so nothing is known without asking.
      revisionNow: undefined,
      events: (after: Revision, signal: AbortSignal): EventStream => ({
        batches: this.events(real, after, signal),
      }),
    });
  }

  /** From now on the stream tells nothing. */
  silence(): void {
    this.silent = true;
  }

  /** The stream goes on: it fails, or leaves events out. */
  lose(error: Error | undefined, skip = 0): void {
    this.breaking = { error, skip };
    this.silent = false;
    this.wake?.();
  }

  /** Lists wait until the function that it returns is called; or only those of all that there is now. */
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

  /** Walks count as lists, and are held and changed like them. */
  private atHand(real: Backend, resource: string): LocalStates | undefined {
    const inner = real.atHand?.(resource);
    if (inner === undefined) return undefined;
    const walk = async (visit: (object: StoredObject) => void): Promise<Revision> => {
      const list = await this.list(real, resource, { prefix: '', from: '', limit: 0, revision: 0 });
      for (const object of list.items) visit(object);
      return list.revision;
    };
    return { read: (key, revision) => inner.read(key, revision), walk };
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
    const source = real.events(after, signal).batches[Symbol.asyncIterator]();
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
        // What came at the time in which it should say nothing is told later.
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
