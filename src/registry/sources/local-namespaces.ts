import type { NamespaceSource } from '../../admission/sources.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { decodeStored } from '../../storage/detached-object.js';
import type { ResourceStore } from '../generic/store/resource-store.js';
import { DecodedObjects } from './decoded-objects.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const MAX_DECODED_BYTES = 4 << 20;

/** The namespaces in the server's own store: read from the cache, or from the store if the cache has none of that name. */
export class LocalNamespaces implements NamespaceSource {
  private readonly decoded = new DecodedObjects(MAX_DECODED_BYTES);

  constructor(
    private readonly store: Pick<ResourceStore, 'getLatest'> & { readonly cache: Pick<ResourceStore['cache'], 'peek'> },
  ) {}

  cached(name: string): KubeObject | undefined {
    const cached = this.store.cache.peek(name);
    return cached === undefined ? undefined : this.decoded.get(cached, () => cached.decode() as KubeObject);
  }

  get(name: string): MaybePromise<KubeObject | undefined> {
    return this.cached(name) ?? this.live(name);
  }

  private async live(name: string): Promise<KubeObject | undefined> {
    const stored = await this.store.getLatest(name);
    return stored === undefined ? undefined : (decodeStored(stored) as KubeObject);
  }
}
