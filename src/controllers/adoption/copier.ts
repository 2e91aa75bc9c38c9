import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { encodeObject } from '../../storage/encode.js';
import type { Revision, StagedObject, Staging } from '../../storage/interfaces.js';
import { encodedBytes } from '../../storage/object-bytes.js';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { Slicer } from '../../scheduling/slicer.js';
import { type ClusterCollection, isExpired } from './collection.js';
import type { RateLimit } from './rate-limit.js';

const FIRST_RETRY_MILLIS = 500;
const LAST_RETRY_MILLIS = 30_000;

export interface CopierOptions {
  readonly collection: Pick<ClusterCollection, 'page' | 'changes'>;
  readonly staging: Staging;
  /** `<plural>.<group>`. */
  readonly resource: string;
  readonly clock: Clock;
  readonly rate: RateLimit;
}

/** How far the copy of a resource is. */
export interface CopyState {
  /** Objects in the cluster, as far as they have been counted. */
  readonly source: number;
  readonly copied: number;
  readonly bytes: number;
  /** Everything has been copied once, and changes have been followed since. */
  readonly complete: boolean;
  readonly lagSeconds: number;
  /** What went wrong last; '' while nothing is. */
  readonly trouble: string;
}

/**
 * Copies the objects of a resource and follows their changes. The watch begins where the list began, and both write states only over
 * older ones, so it does not matter how long the list takes, or in which order they come.
 */
export class Copier {
  /** Revisions of what the copy has. */
  private known = new Map<string, Revision>();
  private readonly sizes = new Map<string, number>();
  private bytes = 0;
  /** What the watch has told of while a list is read, which may show older states: the newest revision of each key. */
  private told: Map<string, Revision> | undefined;
  /** Writes to the copy come one after the other: a late one must not bring back what is gone. */
  private last: Promise<void> = Promise.resolve();
  private source = 0;
  private complete = false;
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

  /** Lists everything while changes are followed; the revision to follow from. */
  private async copy(signal: AbortSignal): Promise<string> {
    const { staging, resource } = this.options;
    this.known = await staging.revisions(resource);
    this.told = new Map();
    const watching = new AbortController();
    const stop = (): void => {
      watching.abort();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      const followed = await this.list(watching.signal);
      this.complete = true;
      this.following = true;
      this.told = undefined;
      return await followed.end;
    } catch (error) {
      stop();
      throw error;
    } finally {
      this.told = undefined;
      signal.removeEventListener('abort', stop);
    }
  }

  /** Reads all pages; the watch that began with the first one goes on. */
  private async list(signal: AbortSignal): Promise<{ readonly end: Promise<string> }> {
    const { collection, rate } = this.options;
    const before = new Set(this.known.keys());
    let end: Promise<string> | undefined;
    let seen = 0;
    for (let token = ''; ;) {
      const page = await collection.page(token);
      if (end === undefined) {
        end = this.follow(page.revision, signal);
        // It is waited for when the list is complete.
        end.catch(() => undefined);
      }
      await this.put(page.objects);
      for (const object of page.objects) before.delete(keyOf(object));
      seen += page.objects.length;
      this.source = seen + (page.remaining ?? 0);
      token = page.continue;
      if (token === '') break;
      await rate.take(page.objects.length, signal);
      if (signal.aborted) throw new Error('the copy was stopped');
    }
    // What was there before, and neither the list nor the watch has shown, went while nobody looked.
    await this.remove([...before].filter((key) => this.told?.has(key) !== true));
    return { end };
  }

  /** Takes changes until the watch ends; the revision to go on from. */
  private async follow(from: string, signal: AbortSignal): Promise<string> {
    let revision = from;
    if (this.complete) this.following = true;
    for await (const { type, object } of this.options.collection.changes(revision, signal)) {
      if (type !== 'BOOKMARK') {
        this.told?.set(keyOf(object), revisionOf(object));
        if (type !== 'DELETED') await this.put([object], true);
        else if ((this.known.get(keyOf(object)) ?? 0) <= revisionOf(object)) await this.remove([keyOf(object)]);
      }
      revision = object.metadata.resourceVersion ?? revision;
      this.freshAt = this.options.clock.monotonic();
    }
    return revision;
  }

  /** `current`: they come from the watch, and nothing newer has been told of. */
  private put(objects: readonly KubeObject[], current = false): Promise<void> {
    return this.inOrder(async () => {
      const newer: StagedObject[] = [];
      const slicer = new Slicer(this.options.clock);
      for (const object of objects) {
        const [key, revision] = [keyOf(object), revisionOf(object)];
        if (!current && revision < (this.told?.get(key) ?? 0)) continue;
        const isNewer = revision > (this.known.get(key) ?? 0);
        if (!isNewer && this.sizes.has(key)) continue;
        const value = encodeObject(object);
        this.count(key, encodedBytes(value, revision).length);
        if (isNewer) newer.push({ key, revision, value });
        if (slicer.isOver) await slicer.yield();
      }
      await this.options.staging.put(this.options.resource, newer);
      for (const { key, revision } of newer) this.known.set(key, revision);
      this.freshAt = this.options.clock.monotonic();
    });
  }

  private remove(keys: readonly string[]): Promise<void> {
    return this.inOrder(async () => {
      await this.options.staging.remove(this.options.resource, keys);
      for (const key of keys) {
        this.known.delete(key);
        this.count(key, 0);
      }
    });
  }

  private inOrder(work: () => Promise<void>): Promise<void> {
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
