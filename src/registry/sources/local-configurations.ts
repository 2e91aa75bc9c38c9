import { Changes } from '../../admission/changes.js';
import type { ConfigurationSource } from '../../admission/sources.js';
import { compareUtf8, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { ResourceCache } from '../../storage/cacher/interfaces.js';
import type { Revision } from '../../storage/interfaces.js';
import type { ServedVersion } from '../rest/served.js';

/** The part of a cache that LocalConfigurations follows. */
export type FollowedCache = Pick<ResourceCache, 'onChange' | 'peekAll' | 'ready'>;

interface Decoded<T> {
  readonly revision: Revision;
  readonly object: T;
}

/** The configurations in the server's own store. A request sees every write that was acknowledged before it arrived. */
export class LocalConfigurations<T extends KubeObject = KubeObject> implements ConfigurationSource<T> {
  private readonly changes = new Changes();
  /** The decoded objects by key, because a cache that packs its objects returns new ones for each read. */
  private decoded: ReadonlyMap<string, Decoded<T>> = new Map();
  private sorted: readonly T[] = [];
  /** The generation from which `sorted` was read. */
  private shown = -1;
  private loaded = false;

  /** `view` is the version in which the objects are returned. */
  constructor(
    private readonly cache: FollowedCache,
    private readonly view: Pick<ServedVersion, 'toObject'>,
  ) {
    cache.onChange?.(() => this.changes.notify());
    // If the store is unavailable now, the next caller tries again.
    this.whenSynced().catch(() => undefined);
  }

  get generation(): number {
    return this.changes.generation;
  }

  objects(): readonly T[] {
    if (this.shown !== this.changes.generation) {
      this.shown = this.changes.generation;
      this.sorted = this.read();
    }
    return this.sorted;
  }

  synced(): boolean {
    return this.loaded;
  }

  async whenSynced(): Promise<void> {
    if (this.loaded) return;
    await this.cache.ready();
    if (this.synced()) return;
    this.loaded = true;
    this.changes.notify();
  }

  subscribe(listener: () => void): () => void {
    return this.changes.subscribe(listener);
  }

  private read(): T[] {
    const present = new Map<string, Decoded<T>>();
    for (const cached of this.cache.peekAll('')) {
      // Objects that cannot be decoded are skipped; `annex doctor` and reads of the object report them.
      if (cached.undecodable) continue;
      const { key, revision } = cached;
      const known = this.decoded.get(key);
      present.set(key, known?.revision === revision ? known : { revision, object: this.view.toObject(cached) as T });
    }
    this.decoded = present;
    return [...present.values()]
      .map(({ object }) => object)
      .sort((a, b) => compareUtf8(a.metadata.name ?? '', b.metadata.name ?? ''));
  }
}
