import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';

export type DeletionPolicy = 'Background' | 'Foreground' | 'Orphan';

export interface DeletePreconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * What the server's own loops do with the objects of one type, through the same admission, validation and storage as everybody
 * else. Objects that come out must not be changed; those that go in are the client's afterwards. Methods throw ApiError.
 */
export interface LoopbackClient {
  /** Undefined: not found. `namespace` is '' for cluster-scoped types. */
  get(namespace: string, name: string): Promise<KubeObject | undefined>;
  /** All of a namespace, or of the cluster where it is ''. */
  list(namespace: string): Promise<readonly KubeObject[]>;
  create(object: KubeObject): Promise<KubeObject>;
  /** Conflict (409) where the object's resourceVersion is not the stored one. */
  update(object: KubeObject): Promise<KubeObject>;
  updateStatus(object: KubeObject): Promise<KubeObject>;
  /** Writes the object through a subresource: `finalize`, `approval`. */
  updateSubresource(object: KubeObject, subresource: string): Promise<KubeObject>;
  /** Server-side apply, conflicts forced. */
  apply(object: KubeObject, fieldManager: string): Promise<KubeObject>;
  /** The same of the status alone, which creates nothing. */
  applyStatus(object: KubeObject, fieldManager: string): Promise<KubeObject>;
  /** Not found (404) and conflict with the preconditions (409) are thrown. */
  delete(namespace: string, name: string, preconditions?: DeletePreconditions, policy?: DeletionPolicy): Promise<void>;
  /** Deletes all of a namespace, one after the other where something may refuse a deletion: then nothing behind it goes. */
  deleteCollection(namespace: string): Promise<void>;
  /**
   * Tells the listener of every object there is, then `synced`, then of every change, in order, until the signal aborts. What
   * interrupts it is repaired inside; after a gap all objects are delivered again, between `reset` and `synced`.
   */
  watch(listener: ResourceEventHandler, signal: AbortSignal): void;
}

/** Called synchronously; must not throw. */
export interface ResourceEventHandler {
  /** The name of a single object to watch. */
  readonly only?: string | undefined;
  upsert(object: KubeObject): void;
  delete(object: KubeObject): void;
  /** The objects delivered so far are void: all are delivered again. */
  reset(): void;
  /** All objects have been delivered. */
  synced(): void;
}

export interface LoopbackClients {
  for(type: GroupResource): LoopbackClient;
}
