import type { VerifiedMarks } from '../../storage/verified-marks.js';
import { sleep } from '../../util/clock.js';
import type { CompiledVersion } from './compiled.js';
import type { ServeOptions } from './serve-options.js';
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
  const { store, signal, clock, marks } = options;
  const { cache } = store;
  const form = marks?.digest(formOf(version, options));
  const known = form === undefined ? undefined : await readMark(marks, store.resource, form);
  if (known !== undefined && !signal.aborted) view.trust(known);
  if (cache.size() > 0 || options.epoch > 1) await sleep(clock, SETTLE_MILLIS, signal);
  if (signal.aborted) return;
  await cache.ready();
  const verified = cache.revision();
  if (!(await view.verify(cache.peekAll(''), signal, clock, known))) return;
  if (marks === undefined || form === undefined) return;
  const record = (): Promise<void> =>
    // Without a mark, the next start verifies more.
    cache.size() < MIN_MARKED
      ? Promise.resolve()
      : marks.record(store.resource, form, cache.revision()).catch(() => undefined);
  if (options.isShared) {
    await sleep(clock, NOTICED_MILLIS, signal);
    // Another replica may have written under an earlier definition until it noticed the change.
    if (!(await view.verify(cache.peekAll(''), signal, clock, verified))) return;
  }
  await record();
  while (!signal.aborted) {
    await changed(options);
    await sleep(clock, MARK_MILLIS, signal);
    if (!signal.aborted) await record();
  }
}

/** Returns whatever determines how a stored object is shown in its own version. */
function formOf({ version, preserveUnknownFields }: CompiledVersion, options: ServeOptions): readonly unknown[] {
  const { uid, group } = options.compiled.definition;
  return [uid, group, version.name, preserveUnknownFields, version.schema];
}

const readMark = (marks: VerifiedMarks | undefined, resource: string, form: string): Promise<number | undefined> =>
  marks === undefined ? Promise.resolve(undefined) : marks.upTo(resource, form).catch(() => undefined);

/** Resolves at the next change of an object, or when the signal aborts. */
function changed({ store: { cache }, signal }: ServeOptions): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      stop?.();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const stop = cache.onChange?.(done);
    signal.addEventListener('abort', done);
  });
}
