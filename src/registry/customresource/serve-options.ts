import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { VerifiedMarks } from '../../storage/verified-marks.js';
import type { Clock } from '../../util/clock.js';
import type { ResourceStore } from '../generic/store/resource-store.js';
import type { ResourceType } from '../rest/interfaces.js';
import type { OffloadableDefinition } from '../rest/served.js';
import type { CompiledDefinition, CompiledVersion, FormOf } from './compiled.js';
import type { Conversion } from './conversion/conversion.js';
import type { CustomView, ConvertedObject } from './view.js';

export interface ServeOptions {
  readonly compiled: CompiledDefinition;
  readonly store: ResourceStore;
  readonly conversion: Conversion;
  readonly terminating: boolean;
  /** Distinguishes the views from earlier views of the same versions. */
  readonly epoch: number;
  /** Aborts when the definition changes or is deleted. */
  readonly signal: AbortSignal;
  /** Aborts when watches must end: the definition's spec or names have changed, or it is gone. */
  readonly watchCancellation: AbortSignal;
  readonly clock: Clock;
  readonly cbor: boolean;
  /** Undefined if it is not kept what was verified. */
  readonly verification?: Verification | undefined;
  /** Makes another thread show a large object of the type in another version; undefined if this thread has to do it. */
  readonly offloadConversion?: OffloadConversion | undefined;
}

export interface Verification {
  readonly marks: VerifiedMarks;
  /** True if other processes write to the store, too. */
  readonly isShared: boolean;
  /** Reports whether the definition is still the newest one, by a read that includes every write acknowledged before the call. */
  isNewest(): Promise<boolean>;
}

export type OffloadConversion = (
  version: { readonly groupVersion: string; readonly offloadable: OffloadableDefinition },
  resource: string,
  object: CachedObject,
) => Promise<ConvertedObject> | undefined;

/** The parts from which one version of a definition is served. */
export interface VersionParts {
  readonly type: ResourceType;
  readonly compiled: CompiledVersion;
  readonly view: CustomView;
  readonly formOf: FormOf;
  readonly offloadable: OffloadableDefinition;
}
