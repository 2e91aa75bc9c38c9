import type { NamespaceSource } from '../admission/sources.js';
import { type KubeObject, nameOf } from '../apimachinery/meta/meta.js';
import type { ClusterClient } from '../client/cluster-client.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/** The cluster's namespaces: a copy maintained by a watch, and a live read for those that it lacks. */
export class ClusterNamespaces implements NamespaceSource {
  private namespaces = new Map<string, KubeObject>();

  constructor(private readonly client: Pick<ClusterClient, 'follow' | 'must'>) {}

  cached(name: string): KubeObject | undefined {
    return this.namespaces.get(name);
  }

  get(name: string): MaybePromise<KubeObject | undefined> {
    return this.namespaces.get(name) ?? this.client.must('GET', `/api/v1/namespaces/${encodeURIComponent(name)}`);
  }

  follow(signal: AbortSignal, handlers: { broken(error: unknown): void; restored(): void }): Promise<void> {
    const listener = {
      upsert: (namespace: KubeObject) => void this.namespaces.set(nameOf(namespace), namespace),
      delete: (namespace: KubeObject) => void this.namespaces.delete(nameOf(namespace)),
      replaced: (all: readonly KubeObject[]) => {
        this.namespaces = new Map(all.map((namespace) => [nameOf(namespace), namespace]));
      },
      responded: () => handlers.restored(),
    };
    return this.client.follow('/api/v1/namespaces', listener, signal, (error) => handlers.broken(error));
  }
}
