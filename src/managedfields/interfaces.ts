import type { JsonObject } from '../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../apimachinery/meta/meta.js';
import type { Type } from '../structured-merge-diff/schema/schema.js';
import type { Clock } from '../util/clock.js';

/** The manager of an apply. `force`: it takes over fields that other managers own. */
export interface Applier {
  readonly manager: string;
  readonly force: boolean;
}

/** Converts whole objects between the versions of one type. Does not modify the input. */
export interface VersionConverter {
  /**
   * Throws MissingVersionError if the version is unknown (its managers are then dropped), ConversionPending if a
   * webhook has to be called first, or any other error, which fails an apply and removes the managedFields of an
   * update.
   */
  convert(object: KubeObject, apiVersion: string): KubeObject;
}

/** The version does not exist (any more). */
export class MissingVersionError extends Error {
  override readonly name = 'MissingVersionError';
}

/**
 * A conversion needs a webhook. The caller of update() or apply() awaits `ready`, which stores the response where the
 * converter finds it, and calls again.
 */
export class ConversionPending extends Error {
  override readonly name = 'ConversionPending';
  constructor(readonly ready: () => Promise<void>) {
    super('a conversion webhook must be called first');
  }
}

export interface FieldManagerOptions {
  readonly kind: GroupVersionKind;
  /** `status`, `scale` …; empty for the object itself. */
  readonly subresource: string;
  /** The reason why the result of a merge cannot be converted, as in kube-apiserver for scales of custom resources. */
  readonly unconvertible?: string;
  /** Returns the type in a version (`group/version`), or undefined if it does not exist. */
  typeOf(apiVersion: string): Type | undefined;
  /** Required if stored entries may be in other versions of the type; without it there are no other versions. */
  readonly converter?: VersionConverter | undefined;
  /** Paths that writes through this manager reset and therefore cannot own, by apiVersion, with `*` for all: see Strategy.resetFields. */
  readonly resetFields?: Readonly<Record<string, readonly (readonly string[])[]>> | undefined;
  /** The members that every new object of a built-in kind has; by default apiVersion and kind. */
  readonly emptyObject?: JsonObject | undefined;
  /** Sets the defaults of the version in place, after an apply; `isNew` if that creates the object. */
  readonly applyDefaults?: ((object: KubeObject, isNew: boolean) => void) | undefined;
  readonly clock: Clock;
  /** Called for each error that update() does not throw. */
  readonly onError?: ((error: unknown, object: KubeObject) => void) | undefined;
}
