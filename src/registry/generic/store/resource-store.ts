import { ApiError, newBadRequest, newNotFound } from '../../../apimachinery/meta/errors.js';
import { formatTime, type GroupResource, type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import { nameIsPathSegment } from '../../../apimachinery/validation/names.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { encodeObject } from '../../../storage/encode.js';
import type { StoreBackend, EncodedObject, StoredObject, WriteResult } from '../../../storage/interfaces.js';
import type { CachedObject, ReadAt, ResourceCache } from '../../../storage/cacher/interfaces.js';
import type { Clock } from '../../../util/clock.js';
import { yieldNow } from '../../../scheduling/slicer.js';
import { OWN_TURN_BYTES } from '../../../scheduling/thresholds.js';
import { type RequestContext, throwIfOver } from '../../../request/context.js';
import type { ResourceType } from '../../rest/interfaces.js';
import { interpretStorageError } from '../interpret-error.js';
import { decodeStored } from '../loopback/detached-object.js';
import { isUnchanged } from '../unchanged.js';

/** Names that nothing can have, and that would lead elsewhere. */
const NO_SEGMENT = /^\.{1,2}$|[/%]/;

/** No client was ever given an older revision: the server writes before it is ready. */
const FIRST_GIVEN = 2;

/** What an update of one object came to. */
export interface WriteOutcome {
  /** Undefined: the object is removed, or nothing was to be written. */
  readonly stored: StoredObject | undefined;
  readonly created: boolean;
  readonly removed: boolean;
}

/** What to do with what is there: store another state, remove it, or nothing, as it was only asked what would be. */
export type NextState = { readonly store: JsonObject } | 'remove' | 'nothing';

export type TryUpdate = (current: StoredObject | undefined) => Promise<NextState>;

/** A state that a write starts from. */
export interface Basis {
  readonly current: StoredObject | undefined;
  /** It was asked of the store for this write. Otherwise it may be an older one, which only a write by it would show. */
  readonly certain: boolean;
}

/** What a store knows of its type. */
export type StoredType = Pick<ResourceType, 'group' | 'resource' | 'namespaced' | 'registryPath' | 'uncached'>;

/** Reads and writes of one resource type, shared by all its versions. Keys are `namespace/name` or `name`. */
export class ResourceStore {
  readonly groupResource: GroupResource;
  readonly namespaced: boolean;

  constructor(
    readonly type: StoredType,
    /** The type's name in the store. */
    readonly resource: string,
    readonly backend: StoreBackend,
    readonly cache: ResourceCache,
    readonly clock: Clock,
    /** Revision before which the type did not exist: nothing can be watched from there, or listed there. */
    readonly bornAt = FIRST_GIVEN,
  ) {
    this.groupResource = { group: type.group, resource: type.resource };
    this.namespaced = type.namespaced;
  }

  /** The same store, read through another cache, or written to another way. */
  through(cache: ResourceCache, backend = this.backend): ResourceStore {
    const { type, resource, clock, bornAt } = this;
    return new ResourceStore(type, resource, backend, cache, clock, bornAt);
  }

  /** Throws ApiError where the name cannot be part of a path. */
  key(namespace: string, name: string): string {
    if (NO_SEGMENT.test(name)) {
      const [why = ''] = nameIsPathSegment(name);
      throw newBadRequest(`Name parameter invalid: ${quote(name)}: ${why}`);
    }
    return this.namespaced ? `${namespace}/${name}` : name;
  }

  /** The key as kube-apiserver's messages show it. */
  displayKey(key: string): string {
    const { group, resource, registryPath = `${group}/${resource}` } = this.type;
    return `/registry/${registryPath}/${key}`;
  }

  /** `asked`: the request's resourceVersion as it was written, for error messages. */
  async get(key: string, name: string, at: ReadAt, asked = ''): Promise<CachedObject> {
    let found: CachedObject | undefined;
    try {
      found = await this.cache.get(key, at);
    } catch (error) {
      throw interpretStorageError(error, 'get', asked);
    }
    if (found === undefined) throw newNotFound(this.groupResource, name);
    if (found.undecodable === true) found.decode();
    return found;
  }

  /** What `get` resolves with, where that is there already; else undefined. */
  getNow(key: string, at: ReadAt): CachedObject | undefined {
    const found = this.cache.getNow?.(key, at);
    if (found?.undecodable === true) found.decode();
    return found;
  }

  /** The newest state, read from the backend. */
  async fresh(key: string): Promise<StoredObject | undefined> {
    try {
      return await this.backend.get(this.resource, key);
    } catch (error) {
      throw interpretStorageError(error, 'get');
    }
  }

  /** What to start a write from: the cache's state, which costs nothing, or else the store's. */
  async basis(key: string): Promise<Basis> {
    const cached = this.cache.peek(key);
    return cached === undefined
      ? { current: await this.fresh(key), certain: true }
      : { current: cached, certain: false };
  }

  /** For an answer that no write confirms: what to start from instead, undefined where the basis is the newest state. */
  async newer(key: string, { current, certain }: Basis): Promise<Basis | undefined> {
    if (certain) return undefined;
    const newest = await this.fresh(key);
    return newest?.revision === current?.revision ? undefined : { current: newest, certain: true };
  }

  /** Writes a new object; the conflict where there is one already tells of it. */
  async insert(key: string, object: JsonObject): Promise<WriteResult> {
    return this.write(key, undefined, encodeObject(object));
  }

  /**
   * Reads, lets `tryUpdate` say what comes next, and writes that if nobody was faster; else again. The first try works on the
   * cache's state; an error, or an answer, made of a state that has changed since is not believed. `tryUpdate` must be rerunnable.
   */
  async guaranteedUpdate(key: string, tryUpdate: TryUpdate, context: RequestContext): Promise<WriteOutcome> {
    let basis = await this.basis(key);
    for (;;) {
      throwIfOver(context);
      const created = basis.current === undefined;
      let next: NextState | { readonly error: unknown };
      try {
        next = await tryUpdate(basis.current);
      } catch (error) {
        next = { error };
      }
      if (next === 'nothing' || (typeof next === 'object' && 'error' in next)) {
        const newer = await this.newer(key, basis);
        if (newer === undefined && next !== 'nothing') throw next.error;
        if (newer === undefined) return { stored: undefined, created, removed: false };
        basis = newer;
        continue;
      }
      const result = await this.writeNext(key, basis, next);
      // A faster writer either removed it too, or changed it: then everything is decided again.
      if (next === 'remove' && (result.outcome === 'committed' || result.current === undefined))
        return { stored: undefined, created, removed: true };
      if (result.outcome === 'committed') return { stored: result.object, created, removed: false };
      basis = { current: result.current, certain: false };
    }
  }

  private async writeNext(
    key: string,
    { current, certain }: Basis,
    next: Exclude<NextState, 'nothing'>,
  ): Promise<WriteResult> {
    if (next === 'remove') return this.write(key, current, undefined);
    if (current === undefined) return this.insert(key, next.store);
    // Making a large object and encoding it both take their time.
    if (current.bytes.length >= OWN_TURN_BYTES) await yieldNow();
    return this.replace(key, { current, certain }, next.store);
  }

  /** Writes the object over the state given; an equal one is not written, unless it is stored under an older key, and counts as committed. */
  async replace(
    key: string,
    basis: Basis & { readonly current: StoredObject },
    object: JsonObject,
  ): Promise<WriteResult> {
    const { current } = basis;
    const value = encodeObject(object);
    if (!isUnchanged(value, current)) return this.write(key, current, value);
    const newest = basis.certain ? current : await this.fresh(key);
    if (newest?.revision !== current.revision) return { outcome: 'conflict', current: newest };
    return newest.stale === true ? this.write(key, current, value) : { outcome: 'committed', object: current };
  }

  /** Removes the object if it still has the revision; the current one where it has not, undefined where it was gone. */
  async remove(key: string, current: StoredObject): Promise<WriteResult> {
    return this.write(key, current, undefined);
  }

  /** Removes an object of another type that is nothing without the one of this type; one with finalizers is marked for them. */
  async removeOther(resource: string, key: string): Promise<void> {
    try {
      let other = await this.backend.get(resource, key);
      while (other !== undefined) {
        const object = (other.object ?? decodeStored(other)) as KubeObject;
        const { metadata } = object;
        const kept = (metadata.finalizers ?? []).length > 0;
        if (kept && metadata.deletionTimestamp !== undefined) return;
        const deletionTimestamp = formatTime(this.clock.now());
        const marked = { ...object, metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 } };
        const value = kept ? encodeObject(marked) : undefined;
        const result = await this.backend.write({ resource, key, expected: other.revision, value });
        if (result.outcome === 'committed') return;
        other = result.current;
      }
    } catch (error) {
      throw interpretStorageError(error, 'write');
    }
  }

  private async write(
    key: string,
    previous: StoredObject | undefined,
    value: EncodedObject | undefined,
  ): Promise<WriteResult> {
    const expected = previous?.revision ?? 0;
    try {
      return await this.backend.write({ resource: this.resource, key, expected, previous, value });
    } catch (error) {
      throw interpretStorageError(error, 'write');
    }
  }
}

/** What a key of a store names. */
export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Whether an error says that the object is too large for the store, so that a try without managedFields is worth it. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ApiError && error.code === 413;
}
