import type { KubeObject } from '../../../apimachinery/meta/meta.js';

const MAX = 100;

const keyOf = ({ metadata: { namespace = '', name = '' } }: KubeObject): string => `${namespace}/${name}`;
const versionOf = (object: KubeObject): bigint => BigInt(object.metadata.resourceVersion ?? '0');

/** The quotas that the plugin wrote last, which the cache may not have yet. */
export class NewestQuotas {
  /** Quotas by namespace and name, oldest first. */
  private readonly written = new Map<string, KubeObject>();

  note(quota: KubeObject): void {
    const key = keyOf(quota);
    this.written.delete(key);
    this.written.set(key, quota);
    const [oldest] = this.written.keys();
    if (this.written.size > MAX && oldest !== undefined) this.written.delete(oldest);
  }

  /** Returns the cached quota, or the one that was written if that is newer. */
  of(cached: KubeObject): KubeObject {
    const key = keyOf(cached);
    const written = this.written.get(key);
    if (written === undefined) return cached;
    if (versionOf(cached) < versionOf(written) && written.metadata.uid === cached.metadata.uid) return written;
    this.written.delete(key);
    return cached;
  }
}
