import type { KubeObject } from '../apimachinery/meta/meta.js';

/** Reads the objects of one type for plugins. The namespace of cluster-scoped objects is ''. */
export interface ObjectReader {
  /** Reads from the cache. */
  cached(namespace: string, name: string): KubeObject | undefined;
  /** Reads the newest state from the store. */
  live(namespace: string, name: string): Promise<KubeObject | undefined>;
}
