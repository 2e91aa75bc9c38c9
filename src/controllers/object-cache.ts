import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';

export interface ObjectCacheOptions<T> {
  /** The only name that the controller is interested in, if there is one. */
  readonly only?: string;
  /** Returns what to remember of an object; undefined to ignore it. */
  keep(object: KubeObject): T | undefined;
  /** Called for each object that was added, changed or deleted, with what was last remembered of it. */
  changed(key: string, item: T): void;
}

/** The part of each object of a type that a controller remembers, by `namespace/name`. */
export class ObjectCache<T> {
  private readonly items = new Map<string, T>();
  private listedKeys: Set<string> | undefined = new Set();
  private first: (() => void) | undefined;
  /** Resolves when all existing objects have been delivered. */
  readonly synced: Promise<void>;

  constructor(private readonly options: ObjectCacheOptions<T>) {
    this.synced = new Promise((resolve) => {
      this.first = resolve;
    });
  }

  get(namespace: string, name: string): T | undefined {
    return this.items.get(`${namespace}/${name}`);
  }

  entries(): Iterable<readonly [string, T]> {
    return this.items;
  }

  start(client: LoopbackClient, signal: AbortSignal): void {
    client.watch(
      {
        only: this.options.only,
        upsert: (object) => this.upsert(object),
        delete: (object) => this.forget(keyOf(object)),
        reset: () => {
          this.listedKeys = new Set();
        },
        synced: () => {
          const { listedKeys } = this;
          this.listedKeys = undefined;
          if (listedKeys !== undefined)
            for (const key of [...this.items.keys()]) if (!listedKeys.has(key)) this.forget(key);
          this.first?.();
        },
      },
      signal,
    );
  }

  private upsert(object: KubeObject): void {
    const key = keyOf(object);
    this.listedKeys?.add(key);
    const item = this.options.keep(object);
    if (item === undefined) {
      this.forget(key);
      return;
    }
    this.items.set(key, item);
    this.options.changed(key, item);
  }

  private forget(key: string): void {
    const item = this.items.get(key);
    if (item === undefined) return;
    this.items.delete(key);
    this.options.changed(key, item);
  }
}

/** `namespace/name`, with an empty namespace for cluster-scoped types. */
export const keyOf = ({ metadata: { namespace = '', name = '' } }: KubeObject): string => `${namespace}/${name}`;
