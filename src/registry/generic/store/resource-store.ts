import { ApiError, newBadRequest, newNotFound } from '../../../apimachinery/meta/errors.js';
import { type GroupResource, quote } from '../../../apimachinery/meta/meta.js';
import { nameIsPathSegment } from '../../../apimachinery/validation/names.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { encodeObject } from '../../../storage/encode.js';
import type { StoreBackend, EncodedObject, StoredObject, WriteResult } from '../../../storage/interfaces.js';
import type { CachedObject, ReadAt, ResourceCache } from '../../../storage/cacher/interfaces.js';
import type { Author } from '../../../storage/kept/interfaces.js';
import type { Clock } from '../../../util/clock.js';
import { yieldNow } from '../../../scheduling/slicer.js';
import { OWN_TURN_BYTES } from '../../../scheduling/thresholds.js';
import type { RequestContext } from '../../../request/context.js';
import type { ResourceType } from '../../rest/interfaces.js';
import { interpretStorageError } from '../../../storage/interpret-error.js';
import { isUnchanged } from '../unchanged.js';

/** Names that no object can have and that would lead to another path. */
const NO_SEGMENT = /^\.{1,2}$|[/%]/;

/** The first revision that clients can have: the server writes before it is ready. */
const FIRST_GIVEN = 2;

/** The result of updating one object. */
export interface WriteOutcome {
  /** Undefined if the object was removed, or if nothing was to be written. */
  readonly stored: StoredObject | undefined;
  readonly created: boolean;
  readonly removed: boolean;
}

/** The action that an update decides on: store another state, remove the object, or nothing, for a dry run. */
export type NextState = { readonly store: JsonObject } | 'remove' | 'nothing';

export type TryUpdate = (current: StoredObject | undefined) => Promise<NextState>;

/** The state that a write starts from. */
export interface OriginalState {
  readonly current: StoredObject | undefined;
  /** True if the state was read from the store for this write. Otherwise it may be outdated, which only a write would show. */
  readonly isLatest: boolean;
}

/** The properties of a type that its store needs. */
export type StoredType = Pick<ResourceType, 'group' | 'resource' | 'namespaced' | 'registryPath' | 'uncached'>;

/** Reads and writes the objects of one resource type, shared by all its versions. Keys are `namespace/name` or `name`. */
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
    /** The revision at which the type was created: earlier revisions can be neither listed nor watched. */
    readonly createdRevision = FIRST_GIVEN,
    /** Who makes the writes; undefined for the server itself. */
    private readonly author?: Author,
  ) {
    this.groupResource = { group: type.group, resource: type.resource };
    this.namespaced = type.namespaced;
  }

  withCache(cache: ResourceCache, backend = this.backend): ResourceStore {
    const { type, resource, clock, createdRevision, author } = this;
    return new ResourceStore(type, resource, backend, cache, clock, createdRevision, author);
  }

  /** Returns the store for the writes of an author. */
  writtenBy(author: Author): ResourceStore {
    const { type, resource, backend, cache, clock, createdRevision } = this;
    return new ResourceStore(type, resource, backend, cache, clock, createdRevision, author);
  }

  /** Returns the key of an object. Throws ApiError if the name cannot be a path segment. */
  key(namespace: string, name: string): string {
    if (NO_SEGMENT.test(name)) {
      const [why = ''] = nameIsPathSegment(name);
      throw newBadRequest(`Name parameter invalid: ${quote(name)}: ${why}`);
    }
    return this.namespaced ? `${namespace}/${name}` : name;
  }

  /** Returns the key as it appears in kube-apiserver's messages. */
  displayKey(key: string): string {
    const { group, resource, registryPath = `${group}/${resource}` } = this.type;
    return `/registry/${registryPath}/${key}`;
  }

  /** `asked` is the request's resourceVersion as written, for error messages. */
  async get(key: string, name: string, at: ReadAt, asked = ''): Promise<CachedObject> {
    let found: CachedObject | undefined;
    try {
      found = await this.cache.get(key, at);
    } catch (error) {
      throw interpretStorageError(error, 'get', asked);
    }
    if (found === undefined) throw newNotFound(this.groupResource, name);
    if (found.undecodable) found.decode();
    return found;
  }

  /** Returns what `get` would resolve with if it is available synchronously, else undefined. */
  getNow(key: string, at: ReadAt): CachedObject | undefined {
    const found = this.cache.getNow?.(key, at);
    if (found?.undecodable === true) found.decode();
    return found;
  }

  /** Reads the newest state from the backend. */
  async getLatest(key: string): Promise<StoredObject | undefined> {
    try {
      return await this.backend.get(this.resource, key);
    } catch (error) {
      throw interpretStorageError(error, 'get');
    }
  }

  /** Returns the state that a write starts from: the cached one, which costs nothing, or else the one in the store. */
  async getOriginalState(key: string): Promise<OriginalState> {
    const cached = this.cache.peek(key);
    return cached === undefined
      ? { current: await this.getLatest(key), isLatest: true }
      : { current: cached, isLatest: false };
  }

  /** For a result that no write confirms: returns the newer state to start from instead, or undefined if the basis is the newest state. */
  async refreshIfStale(key: string, { current, isLatest }: OriginalState): Promise<OriginalState | undefined> {
    if (isLatest) return undefined;
    const newest = await this.getLatest(key);
    return newest?.revision === current?.revision ? undefined : { current: newest, isLatest: true };
  }

  /** Writes a new object. If one already exists, the conflict contains it. */
  async insert(key: string, object: JsonObject): Promise<WriteResult> {
    return this.write(key, undefined, encodeObject(object));
  }

  /**
   * Reads the object, lets `tryUpdate` decide on the next state, and writes it unless another writer was faster; otherwise starts
   * again. The first try uses the cached state. An error or a result without a write only counts if the state has not changed
   * since. `tryUpdate` must be rerunnable.
   */
  async guaranteedUpdate(key: string, tryUpdate: TryUpdate, context: RequestContext): Promise<WriteOutcome> {
    let original = await this.getOriginalState(key);
    for (;;) {
      context.cancellation.throwIfAborted();
      const created = original.current === undefined;
      let next: NextState | { readonly error: unknown };
      try {
        next = await tryUpdate(original.current);
      } catch (error) {
        next = { error };
      }
      if (next === 'nothing' || (typeof next === 'object' && 'error' in next)) {
        const newer = await this.refreshIfStale(key, original);
        if (newer === undefined && next !== 'nothing') throw next.error;
        if (newer === undefined) return { stored: undefined, created, removed: false };
        original = newer;
        continue;
      }
      const result = await this.writeNext(key, original, next);
      // A faster writer may have removed the object, which is the same outcome. If it changed the object, decide again.
      if (next === 'remove' && (result.outcome === 'committed' || result.current === undefined))
        return { stored: undefined, created, removed: true };
      if (result.outcome === 'committed') return { stored: result.object, created, removed: false };
      original = { current: result.current, isLatest: false };
    }
  }

  private async writeNext(
    key: string,
    { current, isLatest }: OriginalState,
    next: Exclude<NextState, 'nothing'>,
  ): Promise<WriteResult> {
    if (next === 'remove') return this.write(key, current, undefined);
    if (current === undefined) return this.insert(key, next.store);
    // Producing a large object and encoding it both take long: yield in between.
    if (current.bytes.length >= OWN_TURN_BYTES) await yieldNow();
    return this.replace(key, { current, isLatest }, next.store);
  }

  /**
   * Writes the object over the given state. An unchanged object counts as committed without a write, unless it is stored under an
   * older encryption key.
   */
  async replace(
    key: string,
    original: OriginalState & { readonly current: StoredObject },
    object: JsonObject,
  ): Promise<WriteResult> {
    const { current } = original;
    const value = encodeObject(object);
    if (!isUnchanged(value, current)) return this.write(key, current, value);
    const newest = original.isLatest ? current : await this.getLatest(key);
    if (newest?.revision !== current.revision) return { outcome: 'conflict', current: newest };
    return newest.stale === true ? this.write(key, current, value) : { outcome: 'committed', object: current };
  }

  /** Removes the object if it still has the given revision. Otherwise the conflict contains the current object, or undefined if it is gone. */
  async remove(key: string, current: StoredObject): Promise<WriteResult> {
    return this.write(key, current, undefined);
  }

  private async write(
    key: string,
    previous: StoredObject | undefined,
    value: EncodedObject | undefined,
  ): Promise<WriteResult> {
    const expected = previous?.revision ?? 0;
    const { resource, author } = this;
    try {
      return await this.backend.write({ resource, key, expected, previous, value, author });
    } catch (error) {
      throw interpretStorageError(error, 'write');
    }
  }
}

/** Splits the key of a store into namespace and name. */
export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Reports whether an error means that the object is too large for the store, so that a retry without managedFields makes sense. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ApiError && error.code === 413;
}
