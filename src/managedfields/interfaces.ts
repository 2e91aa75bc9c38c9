import type { JsonObject } from '../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../apimachinery/meta/meta.js';
import type { Type } from '../structured-merge-diff/schema/schema.js';
import type { Clock } from '../util/clock.js';

/** Who applies; `force`: and takes over what others own. */
export interface Applier {
  readonly manager: string;
  readonly force: boolean;
}

/**
 * Keeps metadata.managedFields of one version of a type, for the whole object or one subresource. Made once per
 * (version, subresource) and used by every request; it holds no state but caches, and each call runs to its end without waiting.
 *
 * `live` is undefined when there is no object yet. It is never changed.
 */
export interface FieldManager {
  /**
   * For create, update and every patch but apply: gives `manager` (which may be empty: `unknown`) what differs between `live` and
   * `next`. Sets or removes `next.metadata.managedFields` and changes nothing else; returns `next`. Entries that did not change are
   * those of `next` or `live` themselves, so their content must be copied before it is changed in place. A failure (an object
   * that does not fit its schema, say) never fails the request: the object then goes without managedFields. The one error
   * that comes through is ConversionPending, and then `next` is as it was.
   */
  update(live: KubeObject | undefined, next: KubeObject, manager: string): KubeObject;

  /**
   * Server-side apply: merges `configuration`, decoded but otherwise as the client sent it, into `live`. Returns a new object in the manager's
   * version, with defaults applied; of the arguments it shares nothing but unchanged managedFields entries.
   * Throws ApiError: 409 with its causes on conflicts unless `force`, 400 where the body is no apply configuration of this
   * type, 500 where it does not fit the schema (as kube-apiserver has it); or ConversionPending. Preconditions (uid, resourceVersion)
   * that the configuration carries are in the result, for the store to check.
   */
  apply(live: KubeObject | undefined, configuration: JsonObject, by: Applier): KubeObject;
}

/** Converts whole objects between the versions of one type; what was given is not changed. */
export interface VersionConverter {
  /**
   * Throws MissingVersionError where the version is not known (its managers are then forgotten), ConversionPending where the
   * answer must be waited for, or any other error, which fails an apply and takes the managedFields from an update.
   */
  convert(object: KubeObject, apiVersion: string): KubeObject;
}

/** The version does not exist (any more). */
export class MissingVersionError extends Error {
  override readonly name = 'MissingVersionError';
}

/**
 * A conversion that needs a webhook. The caller of update() or apply() awaits `ready`, which keeps the answer where the converter
 * finds it, and calls again.
 */
export class ConversionPending extends Error {
  override readonly name = 'ConversionPending';
  constructor(readonly ready: () => Promise<void>) {
    super('a conversion webhook must be asked first');
  }
}

export interface FieldManagerOptions {
  readonly kind: GroupVersionKind;
  /** `status`, `scale` …; empty for the object itself. */
  readonly subresource: string;
  /** Why objects that come of a merge cannot be taken, as kube-apiserver has it for scales of custom resources. */
  readonly unconvertible?: string;
  /** The type's structure in a version (`group/version`), undefined where there is none. */
  typeOf(apiVersion: string): Type | undefined;
  /** Needed where stored entries may speak of other versions of the type; without one there are none. */
  readonly converter?: VersionConverter | undefined;
  /** Paths that writes through this manager reset and therefore cannot own, by apiVersion, `*` for all: see Strategy.resetFields. */
  readonly resetFields?: Readonly<Record<string, readonly (readonly string[])[]>> | undefined;
  /** What a new object of the kind holds before anything is set (built-in types); default: apiVersion and kind. */
  readonly emptyObject?: JsonObject | undefined;
  /** Sets the defaults of the version in place, after an apply. */
  readonly applyDefaults?: ((object: KubeObject) => void) | undefined;
  readonly clock: Clock;
  /** Called for each failure that update() swallows. */
  readonly onError?: ((error: unknown, object: KubeObject) => void) | undefined;
}
