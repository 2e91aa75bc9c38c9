import type { KubeObject } from '../../../src/apimachinery/meta/meta.js';
import type { RequestContext } from '../../../src/request/context.js';
import type { CachedObject, ResourceCache } from '../../../src/storage/cacher/interfaces.js';
import { encodeObject } from '../../../src/storage/encode.js';
import type { Backend, StoredObject, WriteRequest, WriteResult } from '../../../src/storage/interfaces.js';
import { encodeRecord, readRecord } from '../../../src/storage/record.js';
import { FakeClock } from '../util/clock.js';
import type { DeletionStrategy, ResourceType, Strategy } from '../../../src/registry/rest/interfaces.js';
import type { ServedVersion } from '../../../src/registry/rest/served.js';
import { DetachedObject } from '../../../src/storage/detached-object.js';
import { ResourceStore } from '../../../src/registry/generic/store/resource-store.js';

const { signal } = new AbortController();
export const CONTEXT = { signal, cancellation: signal } as Partial<RequestContext> as RequestContext;

export const strategy: Partial<Strategy> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  validateUpdate: () => [],
};

/** Returns a type whose strategy leaves objects unchanged. */
export function servedWith(deletion: DeletionStrategy = {}): ServedVersion {
  return {
    gvk: { group: 'example.com', version: 'v1', kind: 'Widget' },
    groupResource: { group: 'example.com', resource: 'widgets' },
    type: { namespaced: true, deletion } as Partial<ResourceType> as ResourceType,
    strategy,
    toObject: (object: CachedObject) => object.decode() as KubeObject,
    toStorage: (object: KubeObject) => object,
  } as Partial<ServedVersion> as ServedVersion;
}

/** A store with one object that other processes also write, behind a cache that lags. */
export class LaggingCache {
  /** The history of the object, one entry per change, with the revision of that change. */
  readonly log: { readonly revision: number; readonly state: StoredObject | undefined }[] = [];
  reads = 0;
  writes: WriteRequest[] = [];
  /** The number of changes by which the cache lags. */
  lag = 0;
  /** Selects the state newer than the expected one that a conflict reports, as a fraction from 0 to below 1. */
  conflictAt = (): number => 0.999;
  /** Runs before each operation of the backend, to simulate concurrent activity. */
  meanwhile = (): Promise<void> => Promise.resolve();
  /** Called before each write with its number, starting at 1, so that a test can write first. */
  beforeWrite: (nth: number) => void = () => undefined;
  readonly store: ResourceStore;

  constructor(readonly key = 'ns/a') {
    const cache: Partial<ResourceCache> = { peek: () => this.cached() };
    const backend: Pick<Backend, 'get' | 'write'> = {
      get: async () => {
        await this.meanwhile();
        this.reads++;
        return this.newest;
      },
      write: (request) => this.write(request),
    };
    const type = { group: 'example.com', resource: 'widgets', namespaced: true };
    const clock = new FakeClock();
    this.store = new ResourceStore(type, 'widgets.example.com', backend, cache as ResourceCache, clock);
  }

  get newest(): StoredObject | undefined {
    return this.log.at(-1)?.state;
  }

  /** Changes the object as another process would. */
  put(metadata: KubeObject['metadata'], more: object = {}): StoredObject {
    const revision = this.next;
    const [, name = ''] = this.key.split('/');
    const named = { name, namespace: 'ns', ...metadata };
    const value = encodeObject({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: named, ...more });
    return this.append({ key: this.key, revision, ...readRecord(encodeRecord(value, revision)) });
  }

  putBytes(text: string): StoredObject {
    return this.append({ key: this.key, revision: this.next, bytes: Buffer.from(text), flags: 0 });
  }

  remove(): void {
    this.log.push({ revision: this.next, state: undefined });
  }

  private get next(): number {
    return (this.log.at(-1)?.revision ?? 1) + 1;
  }

  private append(state: StoredObject): StoredObject {
    this.log.push({ revision: state.revision, state });
    return state;
  }

  private cached(): CachedObject | undefined {
    const state = this.log.at(-1 - this.lag)?.state;
    return state === undefined ? undefined : new DetachedObject(state);
  }

  private async write(request: WriteRequest): Promise<WriteResult> {
    await this.meanwhile();
    this.beforeWrite(this.writes.push(request));
    const { expected, value, key } = request;
    const revision = this.next;
    const { newest } = this;
    if ((newest?.revision ?? 0) !== expected) return { outcome: 'conflict', current: this.conflicting(expected) };
    if (value !== undefined)
      return {
        outcome: 'committed',
        object: this.append({ key, revision, ...readRecord(encodeRecord(value, revision)) }),
      };
    if (newest === undefined) return { outcome: 'conflict', current: undefined };
    this.remove();
    return { outcome: 'committed', object: { ...newest, revision } };
  }

  /**
   * Returns the state that a conflict reports: one newer than expected, not necessarily the newest; undefined only if the object
   * does not exist.
   */
  private conflicting(expected: number): StoredObject | undefined {
    const { newest } = this;
    if (newest === undefined) return undefined;
    const newer = this.log.flatMap(({ state }) => (state !== undefined && state.revision > expected ? [state] : []));
    return newer[Math.floor(this.conflictAt() * newer.length)] ?? newest;
  }
}
