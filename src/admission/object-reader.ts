import type { KubeObject } from '../apimachinery/meta/meta.js';

/** Objects of one type for plugins. The namespace of cluster-scoped ones is ''. */
export interface ObjectReader {
  /** What the cache has. */
  cached(namespace: string, name: string): KubeObject | undefined;
  /** The newest state, read from the store. */
  live(namespace: string, name: string): Promise<KubeObject | undefined>;
}
