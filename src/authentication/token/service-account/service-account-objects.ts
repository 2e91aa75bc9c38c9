import type { KubeObject } from '../../../apimachinery/meta/meta.js';

export type BoundKind = 'serviceaccounts' | 'secrets' | 'pods' | 'nodes';

/** The objects that decide whether a service account's token is still good. Objects must not be changed. */
export interface ServiceAccountObjects {
  /** What memory has, which may be a moment old. `namespace` is '' for nodes. */
  cached(kind: BoundKind, namespace: string, name: string): KubeObject | undefined;
  /** What the store has. */
  live(kind: BoundKind, namespace: string, name: string): Promise<KubeObject | undefined>;
}
