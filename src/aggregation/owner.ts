import type { KubeObject, OwnerReference } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';

const API_VERSION = 'rbac.authorization.k8s.io/v1';
const KIND = 'ClusterRole';

/** The ClusterRole that owns the APIServices: the cluster's garbage collector deletes them after it, so that uninstalling leaves none behind. */
export class Owner {
  private reference: OwnerReference | undefined;
  /** True if the owner was looked up, and exists or may not be read. */
  private settled: boolean;
  private changed: () => void = () => undefined;

  /** An empty `name` means that there is no owner. */
  constructor(private readonly name: string) {
    this.settled = name === '';
  }

  /** True if APIServices may be registered. False if the owner is known to be gone, which is what uninstalling looks like. */
  get ready(): boolean {
    return this.settled;
  }

  /** Keeps the reference current; calls `changed` whenever it may have changed. */
  follow(
    client: Pick<ClusterClient, 'follow'>,
    signal: AbortSignal,
    handlers: { changed(): void; broken(error: unknown): void; restored(): void },
  ): void {
    if (this.name === '') return;
    this.changed = () => handlers.changed();
    const gone = (): void => this.settle(undefined, 'waiting');
    const found = (role: KubeObject): void => {
      const { uid = '' } = role.metadata;
      this.settle({ apiVersion: API_VERSION, kind: KIND, name: this.name, uid }, 'ready');
    };
    const listener = {
      upsert: found,
      delete: gone,
      replaced: ([role]: readonly KubeObject[]) => {
        if (role === undefined) gone();
        else found(role);
      },
      responded: () => {
        if (this.reference !== undefined) handlers.restored();
        else handlers.broken(new Error(`ClusterRole ${this.name} not found; registration requires it`));
      },
    };
    const path = `/apis/${API_VERSION}/clusterroles?fieldSelector=${encodeURIComponent(`metadata.name=${this.name}`)}`;
    void client.follow(path, listener, signal, (error) => {
      // Registering without an owner is better than not registering at all.
      const refused = error instanceof ClusterError && (error.status === 401 || error.status === 403);
      if (refused && this.reference === undefined) this.settle(undefined, 'ready');
      handlers.broken(error);
    });
  }

  /** Returns the owner references that an APIService with `existing` ones should have: other owners stay. */
  mergeInto(existing: OwnerReference[]): OwnerReference[] {
    const { reference } = this;
    if (reference === undefined) return existing;
    const ours = (one: OwnerReference): boolean =>
      one.apiVersion === API_VERSION && one.kind === KIND && one.name === this.name;
    const same = existing.filter(ours);
    if (same.length === 1 && same[0]?.uid === reference.uid) return existing;
    return [...existing.filter((one) => !ours(one)), reference];
  }

  /** Reports whether an APIService with these owners belongs to another release: it has a ClusterRole as owner, but not this one. */
  isForeign(existing: readonly OwnerReference[]): boolean {
    const roles = existing.filter((one) => one.apiVersion === API_VERSION && one.kind === KIND);
    return this.name !== '' && roles.length > 0 && !roles.some((one) => one.name === this.name);
  }

  private settle(reference: OwnerReference | undefined, state: 'ready' | 'waiting'): void {
    const settled = state === 'ready';
    if (this.settled === settled && this.reference?.uid === reference?.uid) return;
    this.reference = reference;
    this.settled = settled;
    this.changed();
  }
}
