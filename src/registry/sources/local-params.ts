import type { ParamSource, ParamStore } from '../../admission/sources.js';
import type { LabelSelector } from '../../apimachinery/selectors/labels.js';
import type { GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { SelectionPredicate } from '../../apimachinery/selectors/selection-predicate.js';
import type { ApiRegistry, StoredApi } from '../generic/store/api-registry.js';
import { DecodedObjects } from './decoded-objects.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The maximum size of the decoded params of one kind, in stored bytes. */
const MAX_DECODED_BYTES = 8 << 20;

const PRESENT = { mode: 'any' } as const;

/** The params of types that this server serves, built-in and custom. They are read from the watch cache, so no informer is needed. */
export class LocalParams implements ParamSource {
  /** The APIs by `group/version/kind`; cleared after every change of the served types. */
  private kinds: Map<string, StoredApi> | undefined;
  private readonly stores = new WeakMap<StoredApi, ParamStore>();

  constructor(private readonly registry: ApiRegistry) {
    registry.onChange(() => {
      this.kinds = undefined;
    });
  }

  open(kind: GroupVersionKind): ParamStore | undefined {
    const api = (this.kinds ??= this.byKind()).get(keyOf(kind));
    if (api === undefined) return undefined;
    const known = this.stores.get(api);
    if (known !== undefined) return known;
    const made = new LocalParamStore(api);
    this.stores.set(api, made);
    return made;
  }

  retain(): void {
    // Nothing to release: there are no informers.
  }

  private byKind(): Map<string, StoredApi> {
    const kinds = new Map<string, StoredApi>();
    for (const api of this.registry.all()) if (api.kind === 'stored') kinds.set(keyOf(api.served.gvk), api);
    return kinds;
  }
}

class LocalParamStore implements ParamStore {
  private readonly decoded = new DecodedObjects(MAX_DECODED_BYTES);

  constructor(private readonly api: StoredApi) {}

  get namespaced(): boolean {
    return this.api.store.namespaced;
  }

  synced(): boolean {
    return true;
  }

  get(namespace: string, name: string): MaybePromise<KubeObject | undefined> {
    const { store } = this.api;
    const key = store.key(namespace, name);
    const now = store.getNow(key, PRESENT);
    if (now !== undefined) return this.shown(now);
    return store.cache.get(key, PRESENT).then((cached) => (cached === undefined ? undefined : this.shown(cached)));
  }

  async list(namespace: string, selector: LabelSelector): Promise<readonly KubeObject[]> {
    const { store } = this.api;
    const prefix = store.namespaced ? `${namespace}/` : '';
    const clusterScoped = !store.namespaced;
    const predicate = labelled(selector);
    const list = await store.cache.list(PRESENT, { prefix, from: '', limit: 0, predicate, clusterScoped });
    return [...list.items()].map((cached) => this.shown(cached));
  }

  private shown(cached: CachedObject): KubeObject {
    return this.decoded.get(cached, () => this.api.served.toObject(cached));
  }
}

const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}/${kind}`;

function labelled(selector: LabelSelector): SelectionPredicate {
  const label = selector.exactMatch();
  return {
    everything: selector.empty,
    matches: (labels) => selector.matches(labels),
    ...(label !== undefined && { label }),
  };
}
