import type { KubeObject } from '../../../apimachinery/meta/meta.js';

export type BoundKind = 'serviceaccounts' | 'secrets' | 'pods' | 'nodes';

/** Reads the objects that determine whether a service account token is still valid. Callers must not modify them. */
export interface ServiceAccountObjects {
  /** Reads from the cache, which may be slightly stale. `namespace` is '' for nodes. */
  cached(kind: BoundKind, namespace: string, name: string): KubeObject | undefined;
  /** Reads from the store. */
  live(kind: BoundKind, namespace: string, name: string): Promise<KubeObject | undefined>;
}
