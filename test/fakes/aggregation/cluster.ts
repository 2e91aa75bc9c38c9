import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import type { KubeObject } from '../../../src/apimachinery/meta/meta.js';
import type { ClusterAnswer, ClusterError, ClusterListener } from '../../../src/client/cluster-client.js';

/** A followed collection: its listener, and a function that makes it fail. */
export interface Followed {
  readonly listener: ClusterListener;
  readonly signal: AbortSignal;
  failed(error: unknown): void;
}

/** A cluster for tests: discovery by group version, and collections whose events are delivered by hand. */
export class FakeCluster {
  /** By path: `kind resource` of each served type, followed by `!` if it is cluster-scoped. */
  readonly served = new Map<string, readonly string[]>();
  readonly followed = new Map<string, Followed>();
  readonly asked: string[] = [];
  refusal: ClusterError | undefined;

  call(_method: string, path: string): Promise<ClusterAnswer> {
    this.asked.push(path);
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    const served = this.served.get(path);
    if (served === undefined) return Promise.resolve({ status: 404, body: {} });
    const resources = served.map((text): JsonObject => {
      const [kind = '', name = ''] = text.split(' ');
      return { kind, name: name.replace('!', ''), namespaced: !name.endsWith('!') };
    });
    return Promise.resolve({ status: 200, body: { resources } });
  }

  follow(
    path: string,
    listener: ClusterListener,
    signal: AbortSignal,
    failed: (error: unknown) => void,
  ): Promise<void> {
    this.followed.set(path, { listener, signal, failed });
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        this.followed.delete(path);
        resolve();
      });
    });
  }

  at(path: string): Followed {
    const found = this.followed.get(path);
    if (found === undefined) throw new Error(`nobody follows ${path}`);
    return found;
  }

  /** Delivers a list or an event. */
  notify(path: string, what: (listener: ClusterListener) => void): void {
    const { listener } = this.at(path);
    what(listener);
    listener.responded?.();
  }

  list(path: string, ...objects: KubeObject[]): void {
    this.notify(path, (listener) => {
      listener.replaced(objects);
    });
  }
}

export const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};
