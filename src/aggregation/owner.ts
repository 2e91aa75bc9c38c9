import type { KubeObject, OwnerReference } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';

const API_VERSION = 'rbac.authorization.k8s.io/v1';
const KIND = 'ClusterRole';

/**
 * The ClusterRole with which the APIServices go: the cluster's garbage collector removes them after it, so that uninstalling leaves
 * none behind.
 */
export class Owner {
  private reference: OwnerReference | undefined;
  /** It has been looked for, and is there or may not be read. */
  private settled: boolean;
  private changed: () => void = () => undefined;

  /** `name` '': there is none. */
  constructor(private readonly name: string) {
    this.settled = name === '';
  }

  /** Whether something may be registered: not where the owner is known to be gone, which is what uninstalling looks like. */
  get ready(): boolean {
    return this.settled;
  }

  /** Keeps the reference current; `changed` is called whenever it may have become another. */
  follow(
    client: Pick<ClusterClient, 'follow'>,
    signal: AbortSignal,
    told: { changed(): void; broken(error: unknown): void; mended(): void },
  ): void {
    if (this.name === '') return;
    this.changed = () => {
      told.changed();
    };
    const gone = (): void => {
      this.settle(undefined, false);
    };
    const found = (role: KubeObject): void => {
      const { uid = '' } = role.metadata;
      this.settle({ apiVersion: API_VERSION, kind: KIND, name: this.name, uid }, true);
    };
    const listener = {
      upsert: found,
      delete: gone,
      replaced: ([role]: readonly KubeObject[]) => {
        if (role === undefined) gone();
        else found(role);
      },
      heard: () => {
        if (this.reference !== undefined) told.mended();
        else told.broken(new Error(`ClusterRole ${this.name} not found; registration requires it`));
      },
    };
    const path = `/apis/${API_VERSION}/clusterroles?fieldSelector=${encodeURIComponent(`metadata.name=${this.name}`)}`;
    void client.follow(path, listener, signal, (error) => {
      // Better registered without an owner than not at all.
      const refused = error instanceof ClusterError && (error.status === 401 || error.status === 403);
      if (refused && this.reference === undefined) this.settle(undefined, true);
      told.broken(error);
    });
  }

  /** The references that an APIService should have that has these: those of others stay. */
  among(existing: OwnerReference[]): OwnerReference[] {
    const { reference } = this;
    if (reference === undefined) return existing;
    const ours = (one: OwnerReference): boolean =>
      one.apiVersion === API_VERSION && one.kind === KIND && one.name === this.name;
    const same = existing.filter(ours);
    if (same.length === 1 && same[0]?.uid === reference.uid) return existing;
    return [...existing.filter((one) => !ours(one)), reference];
  }

  private settle(reference: OwnerReference | undefined, settled: boolean): void {
    if (this.settled === settled && this.reference?.uid === reference?.uid) return;
    this.reference = reference;
    this.settled = settled;
    this.changed();
  }
}
