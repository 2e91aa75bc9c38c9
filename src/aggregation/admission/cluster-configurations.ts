import { Changes } from '../../admission/changes.js';
import type { ConfigurationSource } from '../../admission/sources.js';
import { compareUtf8, type KubeObject } from '../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';
import { type Clock, sleep } from '../../util/clock.js';
import { discover, groupVersionPath } from './served-versions.js';

const GROUP = 'admissionregistration.k8s.io';
/** Newest first: older clusters serve admission policies in earlier versions with the same fields, or not at all. */
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];
/** The interval at which a cluster that does not serve the type is asked again: it may be upgraded. */
const RECHECK_MILLIS = 60_000;
const RETRY_MILLIS = 2_000;

interface ConfigurationEvents {
  /** Receives a description of the change: `added a`, `changed a`, `deleted a`. */
  changed(resource: string, what: string): void;
  broken(resource: string, error: unknown): void;
  /** Called whenever the cluster responds, even if nothing was broken. */
  responded(resource: string): void;
}

export interface ClusterConfigurationsOptions {
  readonly client: Pick<ClusterClient, 'call' | 'follow'>;
  readonly clock: Clock;
  readonly resource: string;
  readonly kind: string;
  /** Reports whether a configuration concerns only what the cluster itself serves, by its name. */
  readonly ignores: (name: string) => boolean;
  readonly events: ConfigurationEvents;
}

/** The configurations of one kind in the cluster, followed by a watch. While the cluster is unreachable, the last known ones apply. */
export class ClusterConfigurations<T extends KubeObject = KubeObject> implements ConfigurationSource<T> {
  private readonly changes = new Changes();
  private byName = new Map<string, T>();
  private sorted: readonly T[] | undefined;
  private listed = false;
  private resolveFirst: () => void = () => undefined;
  private readonly first = new Promise<void>((resolve) => (this.resolveFirst = resolve));
  private isBroken = true;
  private heardAt: number;

  constructor(private readonly options: ClusterConfigurationsOptions) {
    this.heardAt = options.clock.monotonic();
  }

  get resource(): string {
    return this.options.resource;
  }

  get generation(): number {
    return this.changes.generation;
  }

  objects(): readonly T[] {
    const byName = (a: T, b: T): number => compareUtf8(a.metadata.name ?? '', b.metadata.name ?? '');
    return (this.sorted ??= [...this.byName.values()]
      .filter((one) => !this.options.ignores(one.metadata.name ?? ''))
      .sort(byName));
  }

  synced(): boolean {
    return this.listed;
  }

  whenSynced(): Promise<void> {
    return this.first;
  }

  subscribe(listener: () => void): () => void {
    return this.changes.subscribe(listener);
  }

  /** How long the cluster has not confirmed the objects; 0 while a watch is established. */
  ageSeconds(): number {
    return this.isBroken ? (this.options.clock.monotonic() - this.heardAt) / 1000 : 0;
  }

  /** Follows the cluster until the signal aborts, in the newest version that it serves of the type. */
  async follow(signal: AbortSignal): Promise<void> {
    const over = (): boolean => signal.aborted;
    while (!over()) {
      try {
        const path = await this.path();
        if (path !== undefined) await this.followAt(path, signal);
        else {
          this.replace([]);
          this.confirm();
          await sleep(this.options.clock, RECHECK_MILLIS, signal);
        }
      } catch (error) {
        if (!over()) this.fail(error);
        await sleep(this.options.clock, RETRY_MILLIS, signal);
      }
    }
  }

  private async path(): Promise<string | undefined> {
    for (const version of VERSIONS) {
      const groupVersion = { group: GROUP, version };
      const served = await discover(this.options.client, groupVersion);
      if (served.some(({ resource }) => resource === this.resource)) {
        return `${groupVersionPath(groupVersion)}/${this.resource}`;
      }
    }
    return undefined;
  }

  /** Follows until the signal aborts, or until the cluster no longer serves the version. */
  private async followAt(path: string, signal: AbortSignal): Promise<void> {
    const gone = new AbortController();
    const listener = {
      upsert: (object: KubeObject) => this.upsert(object),
      delete: ({ metadata: { name = '' } }: KubeObject) => {
        if (this.byName.delete(name)) this.changed(`deleted ${name}`);
      },
      replaced: (objects: readonly KubeObject[]) => this.replace(objects),
      responded: () => this.confirm(),
    };
    await this.options.client.follow(path, listener, AbortSignal.any([signal, gone.signal]), (error) => {
      this.fail(error);
      if (error instanceof ClusterError && error.status === 404) gone.abort();
    });
  }

  private upsert(object: KubeObject): void {
    const { name = '' } = object.metadata;
    const before = this.byName.get(name);
    if (before !== undefined && isSame(before, object)) return;
    this.byName.set(name, this.shown(object));
    this.changed(`${before === undefined ? 'added' : 'changed'} ${name}`);
  }

  private replace(objects: readonly KubeObject[]): void {
    const before = this.byName;
    this.byName = new Map();
    const news: string[] = [];
    for (const object of objects) {
      const { name = '' } = object.metadata;
      const known = before.get(name);
      const same = known !== undefined && isSame(known, object);
      this.byName.set(name, same ? known : this.shown(object));
      if (!same) news.push(`${known === undefined ? 'added' : 'changed'} ${name}`);
    }
    for (const name of before.keys()) if (!this.byName.has(name)) news.push(`deleted ${name}`);
    const isFirst = !this.listed;
    this.listed = true;
    if (isFirst) this.changed(`${this.byName.size} read`);
    else if (news.length > 0) this.changed(news.join(', '));
    this.resolveFirst();
  }

  /** Converts to the v1 form of the kind; list items lack apiVersion and kind. */
  private shown(object: KubeObject): T {
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, apiVersion: `${GROUP}/v1`, kind: this.options.kind, metadata } as unknown as T;
  }

  private changed(what: string): void {
    this.sorted = undefined;
    this.options.events.changed(this.resource, what);
    this.changes.notify();
  }

  private confirm(): void {
    this.isBroken = false;
    this.heardAt = this.options.clock.monotonic();
    this.options.events.responded(this.resource);
  }

  private fail(error: unknown): void {
    this.isBroken = true;
    this.options.events.broken(this.resource, error);
  }
}

/** Reports whether only status and metadata differ: all of these kinds count changes of their content in the generation. */
function isSame(before: KubeObject, after: KubeObject): boolean {
  const { uid, generation } = after.metadata;
  return before.metadata.uid === uid && generation !== undefined && before.metadata.generation === generation;
}
