import type { GroupResource } from '../apimachinery/meta/meta.js';
import { hasDeletionTimestamp } from '../apimachinery/meta/meta.js';
import type { ClusterClient } from '../client/cluster-client.js';
import type { LoopbackClients } from '../registry/rest/loopback-client.js';
import { type Clock, sleep } from '../util/clock.js';

/** The maximum number of types and namespaces to remember. */
const MAX_ENTRIES = 50_000;
const RETRY_MILLIS = 5_000;

export interface EmptiedNamespacesOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called when objects were found after all, and deleted. */
  deleted(namespace: string, type: GroupResource, objects: number): void;
  /** Called if a namespace was created again, so that its objects cannot be told from older ones. */
  createdAgain(namespace: string): void;
  failed(namespace: string, error: unknown): void;
}

/**
 * Namespaces in which memory had no objects of a type while the store did not answer. The cluster may have finished their deletion on that
 * answer, so they are checked again once the store answers: another replica may have written there just before (docs/design/outage.md).
 */
export class EmptiedNamespaces {
  private readonly namespaces = new Map<string, Map<string, GroupResource>>();
  private entries = 0;
  private settling = false;

  constructor(private readonly options: EmptiedNamespacesOptions) {}

  /** Remembers a type in a namespace. Returns false if there is no room. */
  add(namespace: string, type: GroupResource): boolean {
    const name = `${type.resource}.${type.group}`;
    const types = this.namespaces.get(namespace) ?? new Map<string, GroupResource>();
    if (types.has(name)) return true;
    if (this.entries >= MAX_ENTRIES) return false;
    this.entries++;
    types.set(name, type);
    this.namespaces.set(namespace, types);
    return true;
  }

  /** Checks all remembered namespaces, until none is left. Called when the store answers again. */
  async settle(): Promise<void> {
    if (this.settling) return;
    this.settling = true;
    const { clock, signal } = this.options;
    while (this.namespaces.size > 0 && !signal.aborted) {
      for (const [namespace, types] of [...this.namespaces]) {
        try {
          if (!(await this.check(namespace, [...types.values()]))) continue;
          this.namespaces.delete(namespace);
          this.entries -= types.size;
        } catch (error) {
          this.options.failed(namespace, error);
        }
      }
      if (this.namespaces.size > 0) await sleep(clock, RETRY_MILLIS, signal);
    }
    this.settling = false;
  }

  /** Returns true if nothing is left to do. While the cluster is still deleting the namespace, it deletes the objects itself. */
  private async check(namespace: string, types: readonly GroupResource[]): Promise<boolean> {
    const { client, clients } = this.options;
    const found = await client.must('GET', `/api/v1/namespaces/${encodeURIComponent(namespace)}`);
    if (found !== undefined && hasDeletionTimestamp(found)) return false;
    for (const type of types) {
      const objects = await clients.for(type).list(namespace);
      if (objects.length === 0) continue;
      if (found !== undefined) {
        this.options.createdAgain(namespace);
        return true;
      }
      await clients.for(type).deleteCollection(namespace);
      this.options.deleted(namespace, type, objects.length);
    }
    return true;
  }
}
