import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { DETACHED } from '../client/detached.js';

/** Knows whether Annex is detached from the cluster. */
export class Detached {
  /** Undefined until the cluster has answered. */
  private state: boolean | undefined;
  private client: Pick<ClusterClient, 'call'> | undefined;
  private collection = '';

  /** False while Annex is detached, or may be. */
  get mayRegister(): boolean {
    return this.state === false;
  }

  get isDetached(): boolean {
    return this.state === true;
  }

  /**
   * Asks the cluster before something is registered that is missing: a replica that was suspended may hear of the missing APIServices before
   * it hears of the ConfigMap.
   */
  async confirm(): Promise<boolean> {
    if (!this.mayRegister || this.client === undefined) return false;
    const { status } = await this.client.call('GET', `${this.collection}/${DETACHED}`);
    return status !== 200;
  }

  /** Follows the ConfigMap. Calls `changed` when its existence changes. A cluster that does not allow it counts as attached. */
  follow(
    client: Pick<ClusterClient, 'follow' | 'call'>,
    namespace: string,
    signal: AbortSignal,
    handlers: { changed(): void; broken(error: unknown): void; restored(): void },
  ): void {
    this.client = client;
    this.collection = `/api/v1/namespaces/${namespace}/configmaps`;
    const settle = (found: boolean): void => {
      if (this.state === found) return;
      this.state = found;
      handlers.changed();
    };
    const listener = {
      upsert: () => settle(true),
      delete: () => settle(false),
      replaced: (all: readonly KubeObject[]) => settle(all.length > 0),
      responded: () => handlers.restored(),
    };
    const named = encodeURIComponent(`metadata.name=${DETACHED}`);
    const path = `${this.collection}?fieldSelector=${named}`;
    void client.follow(path, listener, signal, (error) => {
      const refused = error instanceof ClusterError && (error.status === 401 || error.status === 403);
      if (refused && this.state === undefined) settle(false);
      handlers.broken(error);
    });
  }
}
