import type { Revision } from '../../storage/interfaces.js';
import { sleep } from '../../util/clock.js';
import type { CompiledVersion } from './compiled.js';
import type { ServeOptions, Verification } from './serve-options.js';
import type { CustomView } from './view.js';

/** The time in milliseconds that requests under an earlier definition get to end before stored objects are verified. */
const SETTLE_MILLIS = 1000;
/** The time in milliseconds within which every replica has noticed a change of the definition. */
const NOTICED_MILLIS = 60_000;
/** The shortest time in milliseconds between two marks of a type. */
const MARK_MILLIS = 60_000;
/** Types with fewer objects are verified at each start: that takes a fraction of a second. */
const MIN_MARKED = 1000;

/**
 * Verifies that a type's objects are stored as they are shown, so that their stored bytes can be served. What an earlier process has verified
 * under the same definition, according to the mark in the store, is taken as verified.
 */
export async function keepVerified(view: CustomView, version: CompiledVersion, options: ServeOptions): Promise<void> {
  const { store, signal, clock, verification } = options;
  const { cache } = store;
  const mark = verification && new Mark(version, options, verification);
  const mayHaveWrites = cache.size() > 0 || options.epoch > 1;
  await cache.ready();
  const known = await mark?.read();
  if (known !== undefined && !signal.aborted) view.trust(known);
  if (mayHaveWrites) await sleep(clock, SETTLE_MILLIS, signal);
  if (signal.aborted) return;
  await cache.ready();
  const verified = cache.revision();
  if (!(await view.verify(cache.peekAll(''), signal, clock, known))) return;
  if (mark === undefined) return;
  if (verification?.isShared === true) {
    await sleep(clock, NOTICED_MILLIS, signal);
    // Another replica may have written under an earlier definition until it noticed the change.
    if (!(await view.verify(cache.peekAll(''), signal, clock, verified))) return;
  }
  await mark.write();
  while (await changed(options)) {
    await sleep(clock, MARK_MILLIS, signal);
    await mark.write();
  }
}

/** The mark of a type under one definition. If it cannot be read or written, the next start verifies more. */
class Mark {
  private digest: string | undefined;

  constructor(
    private readonly version: CompiledVersion,
    private readonly options: ServeOptions,
    private readonly verification: Verification,
  ) {}

  /** Made only for types that are marked: it takes the text of the whole schema. */
  private get form(): string {
    return (this.digest ??= this.verification.marks.digest(formOf(this.version, this.options)));
  }

  private get isWanted(): boolean {
    return !this.options.signal.aborted && this.options.store.cache.size() >= MIN_MARKED;
  }

  async read(): Promise<Revision | undefined> {
    if (!this.isWanted) return undefined;
    return this.verification.marks.upTo(this.options.store.resource, this.form).catch(() => undefined);
  }

  async write(): Promise<void> {
    const { cache, resource } = this.options.store;
    const { marks } = this.verification;
    if (!this.isWanted) return;
    // In this order: a write under a newer definition, up to this revision, was made after that definition.
    const revision = cache.revision();
    try {
      if (await this.verification.isNewest()) await marks.record(resource, this.form, revision);
    } catch {
      // The store is away.
    }
  }
}

/** Returns whatever determines how a stored object is shown in its own version. */
function formOf({ version, preserveUnknownFields }: CompiledVersion, options: ServeOptions): readonly unknown[] {
  const { uid, group } = options.compiled.definition;
  return [uid, group, version.name, preserveUnknownFields, version.schema];
}

/** Waits for the next change of an object; false once the signal has aborted. */
function changed({ store: { cache }, signal }: ServeOptions): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve(false);
      return;
    }
    const done = (): void => {
      stop?.();
      signal.removeEventListener('abort', done);
      resolve(!signal.aborted);
    };
    const stop = cache.onChange?.(done);
    signal.addEventListener('abort', done);
  });
}
