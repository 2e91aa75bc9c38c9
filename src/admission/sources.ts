import type { LabelSelector } from '../apimachinery/selectors/labels.js';
import type { GroupVersionKind, KubeObject } from '../apimachinery/meta/meta.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/**
 * The configurations of one kind that admission follows: webhook configurations, policies or bindings. Standalone they are the
 * server's own objects, in aggregated mode those of the cluster. Objects have the form of the kind's v1, whatever version they came in.
 */
export interface ConfigurationSource<T extends KubeObject = KubeObject> {
  /**
   * All objects, sorted by name. The same array until one changes, and the same object until it changes itself, so that what is
   * compiled from an object can be kept in a WeakMap. Neither is to be changed. Empty before the first list.
   */
  objects(): readonly T[];
  /** Grows with every change. A consumer that remembers it need not look at the objects again. */
  readonly generation: number;
  /** Whether the objects have been listed once. Until then a request that they may concern has to wait or is refused. */
  synced(): boolean;
  /** Resolves when `synced`, at once where it is. Callers bound the wait themselves. */
  whenSynced(): Promise<void>;
  /** Calls the listener after every change; the function returned ends it. */
  subscribe(listener: () => void): () => void;
}

/** The objects of one kind that bindings of policies refer to. */
export interface ParamStore {
  readonly namespaced: boolean;
  /**
   * Whether the objects have been listed. As in kube-apiserver a request waits up to a second for that; it does not wait where the
   * last attempt failed, for want of rights, say. With `false` the binding fails with `paramKind kind … not yet synced to use for admission`.
   */
  synced(): MaybePromise<boolean>;
  /** `namespace` '' for cluster-scoped kinds. The object is not to be changed. */
  get(namespace: string, name: string): MaybePromise<KubeObject | undefined>;
  /** Sorted by name; the objects of one namespace. */
  list(namespace: string, selector: LabelSelector): MaybePromise<readonly KubeObject[]>;
}

/** Params by kind. */
export interface ParamSource {
  /** Undefined where no served type has the kind: `failed to find resource referenced by paramKind: …`. Asks anew every time, since types come and go. */
  open(kind: GroupVersionKind): MaybePromise<ParamStore | undefined>;
  /**
   * The kinds that policies refer to now, those of both plugins together. New ones are followed before a request needs them; all others
   * are let go.
   */
  retain(kinds: readonly GroupVersionKind[]): void;
}

/** Namespaces, for selectors, for `namespaceObject`, and for what may be created in them. */
export interface NamespaceSource {
  /** What is cached, where that is; the object is not to be changed. */
  cached(name: string): KubeObject | undefined;
  /** What is cached, or else a fresh read; undefined where it does not exist. The object is not to be changed. */
  get(name: string): MaybePromise<KubeObject | undefined>;
}

/** Everything that admission by webhooks and policies is made of. */
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
