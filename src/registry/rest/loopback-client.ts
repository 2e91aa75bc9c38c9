import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';

export type DeletionPolicy = 'Background' | 'Foreground' | 'Orphan';

export interface DeletePreconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * The client with which the server's own controllers access the objects of one type. Writes pass the same admission, validation and
 * storage as any other request. Objects returned must not be modified; objects passed in belong to the client afterwards. Methods
 * throw ApiError.
 */
export interface LoopbackClient {
  /** Resolves with undefined if the object does not exist. `namespace` is '' for cluster-scoped types. */
  get(namespace: string, name: string): Promise<KubeObject | undefined>;
  /** Lists a namespace, or the whole cluster if it is ''. */
  list(namespace: string): Promise<readonly KubeObject[]>;
  create(object: KubeObject): Promise<KubeObject>;
  /** Throws a conflict (409) if the object's resourceVersion is not the stored one. */
  update(object: KubeObject): Promise<KubeObject>;
  updateStatus(object: KubeObject): Promise<KubeObject>;
  /** Writes the object through a subresource such as `finalize` or `approval`. */
  updateSubresource(object: KubeObject, subresource: string): Promise<KubeObject>;
  /** Runs server-side apply and forces conflicts. */
  apply(object: KubeObject, fieldManager: string): Promise<KubeObject>;
  /** Applies the status alone; never creates an object. */
  applyStatus(object: KubeObject, fieldManager: string): Promise<KubeObject>;
  /** Throws not found (404), or a conflict (409) if a precondition fails. */
  delete(namespace: string, name: string, preconditions?: DeletePreconditions, policy?: DeletionPolicy): Promise<void>;
  /**
   * Deletes all objects of a namespace: one after the other if admission may refuse a deletion, so that nothing behind a refused
   * one is deleted.
   */
  deleteCollection(namespace: string): Promise<void>;
  /**
   * Delivers every existing object to the handler, then calls `synced`, then delivers every change in order until the signal
   * aborts. Interruptions are handled internally. After a gap all objects are delivered again, between `reset` and `synced`.
   */
  watch(listener: ResourceEventHandler, signal: AbortSignal): void;
}

/** Receives the objects of a watch. Called synchronously; must not throw. */
export interface ResourceEventHandler {
  /** The name of the object to watch, if only one is wanted. */
  readonly only?: string | undefined;
  upsert(object: KubeObject): void;
  delete?(object: KubeObject): void;
  /** The objects delivered so far are invalid. All objects are delivered again. */
  reset?(): void;
  /** All existing objects have been delivered. */
  synced?(): void;
}

export interface LoopbackClients {
  for(type: GroupResource): LoopbackClient;
}
