import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { encodeObject } from '../../storage/encode.js';
import type { Revision, StagedObject, Staging } from '../../storage/interfaces.js';
import { encodedBytes } from '../../storage/object-bytes.js';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { Slicer } from '../../scheduling/slicer.js';
import { ChangeBatches } from './change-batches.js';
import { type Change, type ClusterCollection, isExpired } from './collection.js';
import type { RateLimit } from '../rate-limit.js';

const FIRST_RETRY_MILLIS = 500;
const LAST_RETRY_MILLIS = 30_000;
/** The timeout of the watch that catches up, in seconds: kube-apiserver sends a bookmark two seconds before a watch ends. */
const CATCH_UP_SECONDS = 3;

export interface CopierOptions {
  readonly collection: Pick<ClusterCollection, 'page' | 'changes'>;
  readonly staging: Pick<Staging, 'revisions' | 'put' | 'remove'>;
  /** `<plural>.<group>`. */
  readonly resource: string;
  readonly clock: Clock;
  readonly rate: RateLimit;
}

/** The progress of copying a resource. */
export interface CopyState {
  /** The number of objects in the cluster, as far as counted. */
  readonly source: number;
  readonly copied: number;
  readonly bytes: number;
  /** True if everything has been copied once and changes have been followed since. */
  readonly complete: boolean;
  readonly lagSeconds: number;
  /** The last error; '' while there is none. */
  readonly trouble: string;
}

/**
 * Copies the objects of a resource and follows their changes. The watch starts where the list started, and both overwrite only older
 * states, so neither the duration of the list nor the order of the writes matters.
 */
export class Copier {
  /** The revisions of the objects in the copy. */
  private known = new Map<string, Revision>();
  private readonly sizes = new Map<string, number>();
  private bytes = 0;
  /** While a list is read, which may return older states: the newest revision of each key that the watch has reported. */
  private watchedRevisions: Map<string, Revision> | undefined;
  /** Serializes the writes to the copy: a late one must not bring back a deleted object. */
  private last: Promise<void> = Promise.resolve();
  private source = 0;
  private complete = false;
  /** True if the last list is complete and no change has been missed since. */
  private whole = false;
  private reached: Revision = 0;
  private batches: ChangeBatches | undefined;
  private freshAt: number;
  private following = false;
  private trouble = '';

  constructor(private readonly options: CopierOptions) {
    this.freshAt = options.clock.monotonic();
  }

  get state(): CopyState {
    const { complete, following, bytes, trouble, known } = this;
    const behind = complete && following ? 0 : this.options.clock.monotonic() - this.freshAt;
    const source = complete ? known.size : Math.max(this.source, known.size);
    return { source, copied: known.size, bytes, complete, lagSeconds: Math.floor(behind / 1000), trouble };
  }

  /** The number of received changes that are not in the copy yet. */
  get backlog(): number {
    return this.batches?.size ?? 0;
  }

  revisionOf(key: string): Revision | undefined {
    return this.known.get(key);
  }

  /** The keys of the copy. */
  keys(): Iterable<string> {
    return this.known.keys();
  }

  /** Copies and follows until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    let retry = FIRST_RETRY_MILLIS;
    let revision = '';
    while (!signal.aborted) {
      try {
        revision = revision === '' ? await this.copy(signal) : await this.follow(revision, signal);
        retry = FIRST_RETRY_MILLIS;
        this.trouble = '';
      } catch (error) {
        this.following = false;
        if (isExpired(error)) revision = '';
        else this.trouble = messageOf(error);
        await sleep(this.options.clock, retry, signal);
        retry = Math.min(retry * 2, LAST_RETRY_MILLIS);
      }
    }
  }

  /** Called after `run` has ended: brings the copy up to all that the cluster had at a revision. Throws if that requires listing everything again. */
  async catchUp(revision: Revision, signal: AbortSignal): Promise<void> {
    if (!this.whole) throw new Error(`the copy of ${this.options.resource} is not complete`);
    while (this.reached < revision) {
      if (!signal.aborted) {
        const until = { revision, seconds: CATCH_UP_SECONDS };
        await this.follow(String(this.reached), signal, until).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
      }
      if (signal.aborted && this.reached < revision)
        throw new Error(
          `${this.options.resource} is followed up to revision ${this.reached}, but the cluster is at ${revision}`,
        );
    }
  }

  /** Lists everything while following changes. Returns the revision to continue from. */
  private async copy(signal: AbortSignal): Promise<string> {
    const { staging, resource } = this.options;
    this.whole = false;
    this.known = await staging.revisions(resource);
    this.watchedRevisions = new Map();
    const watching = new AbortController();
    const stop = (): void => watching.abort();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const followed = await this.list(watching.signal);
      this.complete = this.whole = true;
      this.following = true;
      this.watchedRevisions = undefined;
      return await followed.end;
    } catch (error) {
      stop();
      throw error;
    } finally {
      this.watchedRevisions = undefined;
      signal.removeEventListener('abort', stop);
    }
  }

  /** Reads all pages; the watch that started with the first one continues. */
  private async list(signal: AbortSignal): Promise<{ readonly end: Promise<string> }> {
    const { collection, rate } = this.options;
    const before = new Set(this.known.keys());
    let end: Promise<string> | undefined;
    let seen = 0;
    for (let token = ''; ;) {
      const page = await collection.page(token);
      if (end === undefined) {
        end = this.follow(page.revision, signal);
        // The caller awaits it once the list is complete.
        end.catch(() => undefined);
      }
      await this.put(page.objects, 'list');
      for (const object of page.objects) before.delete(keyOf(object));
      seen += page.objects.length;
      this.source = seen + (page.remaining ?? 0);
      token = page.continue;
      if (token === '') break;
      await rate.take(page.objects.length, signal);
      if (signal.aborted) throw new Error('the copy was stopped');
    }
    // Keys that neither the list nor the watch has shown were deleted while no watch was running.
    await this.remove([...before].filter((key) => this.watchedRevisions?.has(key) !== true));
    return { end };
  }

  /** Applies changes until the watch ends. Returns the revision to continue from. */
  private async follow(
    from: string,
    signal: AbortSignal,
    until?: { readonly revision: Revision; readonly seconds: number },
  ): Promise<string> {
    let revision = from;
    this.reached = Number(from);
    if (this.complete) this.following = true;
    const batches = new ChangeBatches({
      keyOf: ({ object }) => keyOf(object),
      apply: (changes) => this.apply(changes),
      onApplied: (reached) => {
        this.reached = reached;
      },
    });
    this.batches = batches;
    try {
      for await (const change of this.options.collection.changes(revision, signal, until?.seconds)) {
        const { type, object } = change;
        if (type !== 'BOOKMARK') this.watchedRevisions?.set(keyOf(object), revisionOf(object));
        revision = object.metadata.resourceVersion ?? revision;
        await batches.take(change, Number(revision));
        this.freshAt = this.options.clock.monotonic();
        if (until !== undefined && Number(revision) >= until.revision) break;
      }
    } finally {
      await batches.idle();
    }
    return revision;
  }

  private async apply(changes: readonly Change[]): Promise<void> {
    const objects = changes.filter(({ type }) => type !== 'DELETED').map(({ object }) => object);
    if (objects.length > 0) await this.put(objects, 'watch');
    const gone = changes.filter(({ type }) => type === 'DELETED').map(({ object }) => object);
    const isOld = (object: KubeObject): boolean => (this.known.get(keyOf(object)) ?? 0) <= revisionOf(object);
    if (gone.length > 0) await this.remove(gone.filter(isOld).map(keyOf));
  }

  private put(objects: readonly KubeObject[], from: 'list' | 'watch'): Promise<void> {
    return this.serialize(async () => {
      const newer: StagedObject[] = [];
      const slicer = new Slicer(this.options.clock);
      for (const object of objects) {
        const [key, revision] = [keyOf(object), revisionOf(object)];
        // The watch may have shown a newer state than the list.
        if (from === 'list' && revision < (this.watchedRevisions?.get(key) ?? 0)) continue;
        const isNewer = revision > (this.known.get(key) ?? 0);
        if (!isNewer && this.sizes.has(key)) continue;
        const value = encodeObject(object);
        this.count(key, encodedBytes(value, revision).length);
        if (isNewer) newer.push({ key, revision, value });
        if (slicer.isExhausted) await slicer.yield();
      }
      await this.options.staging.put(this.options.resource, newer);
      for (const { key, revision } of newer) this.known.set(key, revision);
      this.freshAt = this.options.clock.monotonic();
    });
  }

  private remove(keys: readonly string[]): Promise<void> {
    return this.serialize(async () => {
      await this.options.staging.remove(this.options.resource, keys);
      for (const key of keys) {
        this.known.delete(key);
        this.count(key, 0);
      }
    });
  }

  private serialize(work: () => Promise<void>): Promise<void> {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined);
    return done;
  }

  private count(key: string, bytes: number): void {
    this.bytes += bytes - (this.sizes.get(key) ?? 0);
    if (bytes === 0) this.sizes.delete(key);
    else this.sizes.set(key, bytes);
  }
}

export function keyOf({ metadata: { name = '', namespace = '' } }: KubeObject): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export const revisionOf = (object: KubeObject): Revision => Number(object.metadata.resourceVersion ?? 0);
