import type { LabelSelector } from '../apimachinery/selectors/labels.js';
import type { GroupVersionKind, KubeObject } from '../apimachinery/meta/meta.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/**
 * The objects of one kind that configure admission: webhook configurations, policies or bindings. In standalone mode
 * they are the server's own, in aggregated mode those of the cluster. They have the form of the kind's v1, whatever
 * version they were written in.
 */
export interface ConfigurationSource<T extends KubeObject = KubeObject> {
  /**
   * Returns all objects, sorted by name; empty before the first list. The array stays the same until an object changes,
   * and an object until it changes itself, so that compiled forms can be cached in a WeakMap. Neither may be modified.
   */
  objects(): readonly T[];
  /** Increases with every change. While it is the same, the objects need not be read again. */
  readonly generation: number;
  /** Reports whether the objects have been listed once. Until then, a request that they may match has to wait or is refused. */
  synced(): boolean;
  /** Resolves once `synced` is true. Callers limit the wait themselves. */
  whenSynced(): Promise<void>;
  /** Calls the listener after every change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
}

/** The objects of one kind that policy bindings refer to as params. */
export interface ParamStore {
  readonly namespaced: boolean;
  /**
   * Reports whether the objects have been listed. As in kube-apiserver, a request waits up to a second for that, but
   * not if the last attempt failed, for example for lack of permissions. If it is false, the binding fails with
   * `paramKind kind … not yet synced to use for admission`.
   */
  synced(): MaybePromise<boolean>;
  /** `namespace` is '' for cluster-scoped kinds. The object must not be modified. */
  get(namespace: string, name: string): MaybePromise<KubeObject | undefined>;
  /** Returns the objects of one namespace, sorted by name. */
  list(namespace: string, selector: LabelSelector): MaybePromise<readonly KubeObject[]>;
}

/** The param stores by kind. */
export interface ParamSource {
  /**
   * Returns undefined if no served type has the kind: `failed to find resource referenced by paramKind: …`. Looks the
   * kind up on every call, because types come and go.
   */
  open(kind: GroupVersionKind): MaybePromise<ParamStore | undefined>;
  /**
   * Sets the kinds that policies of both plugins currently refer to. New kinds are watched before a request needs them;
   * all others are released.
   */
  retain(kinds: readonly GroupVersionKind[]): void;
}

/** Reads namespaces for selectors, for `namespaceObject`, and for checks on new objects. */
export interface NamespaceSource {
  /** Returns the cached namespace, if any. It must not be modified. */
  cached(name: string): KubeObject | undefined;
  /** Returns the cached namespace, else reads it; undefined if it does not exist. It must not be modified. */
  get(name: string): MaybePromise<KubeObject | undefined>;
}

/**
 * The configurations from files, as far as there are any. They apply before the others, and also to requests for configurations, which
 * those of the API never match: they could lock themselves.
 */
export type StaticSources = Partial<Omit<AdmissionSources, 'params' | 'namespaces'>>;

/** The inputs of admission by webhooks and policies. */
export interface AdmissionSources {
  readonly mutatingWebhooks: ConfigurationSource;
  readonly validatingWebhooks: ConfigurationSource;
  readonly mutatingPolicies: ConfigurationSource;
  readonly mutatingPolicyBindings: ConfigurationSource;
  readonly validatingPolicies: ConfigurationSource;
  readonly validatingPolicyBindings: ConfigurationSource;
  readonly params: ParamSource;
  readonly namespaces: NamespaceSource;
}
