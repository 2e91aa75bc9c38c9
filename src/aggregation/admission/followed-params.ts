import type { ParamStore } from '../../admission/sources.js';
import type { LabelSelector } from '../../apimachinery/selectors/labels.js';
import {
  compareUtf8,
  formatGroupVersion,
  type GroupVersionKind,
  type KubeObject,
} from '../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient, type ClusterListener } from '../../client/cluster-client.js';
import { type Clock, sleep } from '../../util/clock.js';
import { type DiscoveredResource, groupVersionPath } from './served-versions.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** As in kube-apiserver, how long a request waits for params that have just begun to be followed. */
const FIRST_LIST_MILLIS = 1_000;

/** Kinds with more objects than this are not kept in memory. */
const MAX_OBJECTS = 50_000;

export interface ParamEvents {
  broken(kind: GroupVersionKind, error: unknown): void;
  responded(kind: GroupVersionKind): void;
}

/** All objects of one kind in the cluster, followed by a watch. */
export class FollowedParams implements ParamStore {
  readonly namespaced: boolean;
  /** By namespace, then by name. */
  private objects = new Map<string, Map<string, KubeObject>>();
  private count = 0;
  private listed = false;
  private failed = false;
  private resolveFirst: () => void = () => undefined;
  private readonly first = new Promise<void>((resolve) => (this.resolveFirst = resolve));
  private readonly stopping = new AbortController();

  constructor(
    private readonly kind: GroupVersionKind,
    private readonly type: DiscoveredResource,
    private readonly clock: Clock,
  ) {
    this.namespaced = type.namespaced;
  }

  /** `gone` is called when the cluster no longer serves the kind. */
  async follow(client: Pick<ClusterClient, 'follow'>, events: ParamEvents, gone: () => void): Promise<void> {
    const path = `${groupVersionPath(this.kind)}/${this.type.resource}`;
    await client.follow(path, this.listener(events), this.stopping.signal, (error) => {
      this.failed = true;
      this.resolveFirst();
      events.broken(this.kind, error);
      if (error instanceof ClusterError && error.status === 404) gone();
    });
  }

  stop(): void {
    this.stopping.abort();
  }

  synced(): MaybePromise<boolean> {
    if (this.listed || this.failed) return this.listed;
    return Promise.race([this.first, sleep(this.clock, FIRST_LIST_MILLIS)]).then(() => this.listed);
  }

  get(namespace: string, name: string): KubeObject | undefined {
    return this.objects.get(namespace)?.get(name);
  }

  list(namespace: string, selector: LabelSelector): readonly KubeObject[] {
    const selected = [...(this.objects.get(namespace)?.values() ?? [])].filter(({ metadata }) =>
      selector.matches(metadata.labels),
    );
    return selected.sort((a, b) => compareUtf8(a.metadata.name ?? '', b.metadata.name ?? ''));
  }

  private listener(events: ParamEvents): ClusterListener {
    const bound = (count: number): void => {
      if (count <= MAX_OBJECTS) return;
      this.stop();
      this.objects.clear();
      this.listed = false;
      this.failed = true;
      events.broken(this.kind, new Error(`there are more than ${MAX_OBJECTS} objects of this kind`));
    };
    return {
      upsert: (object) => {
        this.set(object);
        bound(this.count);
      },
      delete: ({ metadata: { namespace = '', name = '' } }) => {
        const objects = this.objects.get(namespace);
        if (objects?.delete(name) === true) this.count--;
        if (objects?.size === 0) this.objects.delete(namespace);
      },
      replaced: (all) => {
        this.objects = new Map();
        this.count = 0;
        for (const object of all) this.set(object);
        this.listed = true;
        this.resolveFirst();
        bound(this.count);
      },
      responded: () => {
        if (this.stopping.signal.aborted) return;
        this.failed = false;
        events.responded(this.kind);
      },
    };
  }

  /** List items of built-in types lack apiVersion and kind. */
  private set(object: KubeObject): void {
    const { namespace = '', name = '' } = object.metadata;
    const objects = this.objects.get(namespace) ?? new Map<string, KubeObject>();
    this.objects.set(namespace, objects);
    if (!objects.has(name)) this.count++;
    objects.set(name, { ...object, apiVersion: formatGroupVersion(this.kind), kind: this.kind.kind });
  }
}
