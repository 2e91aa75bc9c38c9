import { ApiError } from '../../apimachinery/meta/errors.js';
import { StorageError } from '../../storage/errors.js';
import { undecodable } from '../../storage/undecodable.js';
import { deepEqual, type JsonObject, textAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Attributes, CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import type { Revision } from '../../storage/interfaces.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import { ConversionPending } from '../../managedfields/interfaces.js';
import type { CompiledVersion } from './compiled.js';
import type { Conversion } from './conversion/conversion.js';
import { encodeObject } from '../../storage/encode.js';
import { inBackground, sliced } from '../../scheduling/slicer.js';
import { OFFLOAD_CONVERSION_BYTES } from '../../scheduling/thresholds.js';
import type { Clock } from '../../util/clock.js';

export interface CustomViewOptions {
  readonly id: string;
  readonly groupVersion: string;
  /** Returns the form of a version of the type, `group/version`, or undefined if the type has no such version. */
  readonly formOf: (groupVersion: string) => Pick<CompiledVersion, 'schema' | 'preserveUnknownFields'> | undefined;
  readonly conversion: Conversion;
  /** True if the version is the storage version. */
  readonly isStorage: boolean;
  /** Makes another thread show a large object; undefined if this thread has to do it. */
  readonly offload?: ((object: CachedObject) => Promise<ConvertedObject> | undefined) | undefined;
}

/** Below the revisions of all objects. */
const NOTHING = -1;
/** The number of objects that are passed over between two looks at the clock. */
const SKIPPED_PER_STEP = 100;

/** An object in a version other than the stored one: its JSON, and its attributes for selectors. */
export interface ConvertedObject {
  readonly bytes: Uint8Array;
  readonly attributes: Attributes;
}

/** An object that waits for a conversion, and its decoded stored form. */
interface PendingConversion {
  readonly object: CachedObject;
  readonly stored: KubeObject;
}

/**
 * Shows stored custom resources in one version. An object is pruned (embedded metadata, too) and defaulted in the version in which
 * it was stored, as if it had been written today, then converted and pruned again. Once `verify` has found that no stored object
 * looks different, the stored bytes are shown unchanged, except for objects flagged as incomplete. If conversions have to wait,
 * `prepare` must be called first.
 */
export class CustomView {
  readonly json: Representation & { identityUpTo: Revision };
  /** The bytes of remotely converted objects, and conversions under way. Entries live as long as the objects. */
  private readonly converted = new WeakMap<CachedObject, Uint8Array | Promise<void>>();
  /** The attributes of objects. Entries live as long as the objects are in the cache. */
  private readonly selectable = new WeakMap<CachedObject, Attributes>();
  private readonly sameVersion: Buffer;

  constructor(private readonly options: CustomViewOptions) {
    this.json = {
      id: options.id,
      identityUpTo: NOTHING,
      separator: ',',
      render: (object) => this.bytes(object),
      isMade: (object) => this.converted.get(object) instanceof Uint8Array,
    };
    this.sameVersion = Buffer.from(`{"apiVersion":${JSON.stringify(options.groupVersion)},`);
  }

  /** True if the version is the one in which objects are stored. */
  get showsStoredVersion(): boolean {
    return this.options.isStorage;
  }

  /** Throws ConversionPending if the object has to be prepared first. */
  toObject(object: CachedObject): KubeObject {
    if (!this.isRemote(object)) return this.toVersion(object.decode());
    return parseJson(this.remoteBytes(object)) as KubeObject;
  }

  /** Resolves when all these objects can be shown without waiting for conversion. */
  async prepare(objects: Iterable<CachedObject>): Promise<void> {
    if (!this.options.conversion.remote) return;
    const wanted: PendingConversion[] = [];
    const inFlight = new Set<Promise<void>>();
    const large: CachedObject[] = [];
    for (const object of objects) {
      const known = this.converted.get(object);
      if (known instanceof Promise) inFlight.add(known);
      else if (known === undefined && !object.undecodable && this.isRemote(object)) {
        if (object.bytes.length >= OFFLOAD_CONVERSION_BYTES && this.options.offload !== undefined) large.push(object);
        else wanted.push({ object, stored: this.normalizeStored(object.decode()) });
      }
    }
    if (wanted.length > 0) inFlight.add(this.convertAll(wanted));
    await Promise.all(inFlight);
    // One after the other: together they may exceed the queue for a thread.
    for (const object of large) await this.convertOffloaded(object);
  }

  private async convertOffloaded(object: CachedObject): Promise<void> {
    const known = this.converted.get(object);
    if (known !== undefined) {
      await known;
      return;
    }
    const shown = this.options.offload?.(object);
    if (shown === undefined) {
      await this.convertAll([{ object, stored: this.normalizeStored(object.decode()) }]);
      return;
    }
    const work = shown.then(
      ({ bytes, attributes }) => {
        this.converted.set(object, bytes);
        this.selectable.set(object, attributes);
      },
      (error: unknown) => {
        this.converted.delete(object);
        throw error;
      },
    );
    this.converted.set(object, work);
    await work;
  }

  /** Returns the labels and selectable fields of a prepared object. */
  attributes(object: CachedObject, read: (shown: KubeObject) => Attributes): Attributes {
    let attributes = this.selectable.get(object);
    if (attributes === undefined) {
      attributes = read(this.toObject(object));
      this.selectable.set(object, attributes);
    }
    return attributes;
  }

  private convertAll(wanted: readonly PendingConversion[]): Promise<void> {
    const { conversion, groupVersion } = this.options;
    const work = conversion
      .convertAll(
        wanted.map(({ stored }) => stored),
        groupVersion,
      )
      .then((converted) => {
        wanted.forEach(({ object }, i) => {
          const shown = converted[i] as KubeObject;
          this.pruneShown(shown);
          this.converted.set(object, encoded(shown, object));
        });
      })
      .catch((error: unknown) => {
        for (const { object } of wanted) this.converted.delete(object);
        throw error;
      });
    for (const { object } of wanted) this.converted.set(object, work);
    return work;
  }

  /** Reports whether the object is stored in another version and its conversion has to wait. */
  private isRemote(object: CachedObject): boolean {
    if (!this.options.conversion.remote) return false;
    const { sameVersion } = this;
    return Buffer.compare(sameVersion, object.bytes.subarray(0, sameVersion.length)) !== 0;
  }

  private remoteBytes(object: CachedObject): Uint8Array {
    const known = this.converted.get(object);
    if (known instanceof Uint8Array) return known;
    throw new ConversionPending(() => this.prepare([object]));
  }

  /**
   * Checks all objects of the type in slices; if all look as stored, their bytes are shown from now on. Writes under an earlier
   * definition must have ended before. Later writes use this definition and need no check. Ends early when the signal aborts. Objects up
   * to the revision `known` need no check. Returns true if the bytes of all objects are shown.
   */
  async verify(
    objects: Iterable<CachedObject>,
    signal: AbortSignal,
    clock: Pick<Clock, 'monotonic'>,
    known: Revision = NOTHING,
  ): Promise<boolean> {
    if (!this.showsStoredVersion) return false;
    const isCurrent = await this.areCurrent(objects, signal, clock, known);
    if (signal.aborted) return false;
    this.json.identityUpTo = isCurrent ? Infinity : known;
    return isCurrent;
  }

  /** Shows the stored bytes of objects up to a revision, which are known to look as stored. */
  trust(revision: Revision): void {
    if (this.showsStoredVersion) this.json.identityUpTo = revision;
  }

  private async areCurrent(
    objects: Iterable<CachedObject>,
    signal: AbortSignal,
    clock: Pick<Clock, 'monotonic'>,
    known: Revision,
  ): Promise<boolean> {
    const large: CachedObject[] = [];
    if (!(await inBackground(this.areStoredFormsCurrent(objects, large, signal, known), clock))) return false;
    for (const object of large)
      if (signal.aborted || !(await this.isLargeStoredFormCurrent(object, clock))) return false;
    return true;
  }

  /** Reports whether all objects after the revision `known` look as stored. Large objects are collected in `large` for later. */
  private *areStoredFormsCurrent(
    objects: Iterable<CachedObject>,
    large: CachedObject[],
    signal: AbortSignal,
    known: Revision,
  ): Generator<undefined, boolean> {
    let skipped = 0;
    for (const object of objects) {
      if (object.revision <= known) {
        if (++skipped % SKIPPED_PER_STEP === 0) yield;
        continue;
      }
      // Incomplete objects are checked each time they are shown.
      if (object.incomplete) continue;
      if (signal.aborted || object.undecodable) return false;
      if (object.bytes.length >= OFFLOAD_CONVERSION_BYTES) large.push(object);
      else if (!(yield* this.isStoredFormCurrent(object))) return false;
      yield;
    }
    return true;
  }

  /** Checks a large object, in another thread if one is available. */
  private async isLargeStoredFormCurrent(object: CachedObject, clock: Pick<Clock, 'monotonic'>): Promise<boolean> {
    const shown = this.options.offload?.(object);
    if (shown === undefined) return sliced(this.isStoredFormCurrent(object), clock);
    return shown.then(
      ({ bytes }) => Buffer.compare(bytes, object.bytes) === 0,
      // Whatever the error was: each read then checks by itself.
      () => false,
    );
  }

  /** Shows a tree that is in its stored form, and takes ownership of it. */
  async convertStored(tree: JsonObject): Promise<KubeObject> {
    if (!this.options.conversion.remote || tree['apiVersion'] === this.options.groupVersion)
      return this.toVersion(tree);
    const stored = this.normalizeStored(tree);
    const [shown = stored] = await this.options.conversion.convertAll([stored], this.options.groupVersion);
    this.pruneShown(shown);
    return shown;
  }

  /** Takes ownership of the tree. */
  private toVersion(tree: JsonObject): KubeObject {
    const { conversion, groupVersion } = this.options;
    const stored = this.normalizeStored(tree);
    if (stored.apiVersion === groupVersion) {
      this.checkShown(stored);
      return stored;
    }
    const shown = conversion.convert(stored, groupVersion);
    this.pruneShown(shown);
    return shown;
  }

  /** Prunes and defaults a tree, in place, in the version in which it is stored. */
  private normalizeStored(stored: JsonObject): KubeObject {
    const storedAs = textAt(stored, 'apiVersion');
    const form = this.options.formOf(storedAs);
    if (form === undefined) {
      throw new ApiError(500, '', `request to convert CR from an invalid group/version: ${storedAs}`);
    }
    if (!form.preserveUnknownFields) form.schema.prune(stored);
    form.schema.coerceStored(stored);
    form.schema.applyDefaults(stored);
    return stored as KubeObject;
  }

  private pruneShown(object: KubeObject): void {
    const form = this.options.formOf(this.options.groupVersion);
    if (form !== undefined && !form.preserveUnknownFields) form.schema.prune(object);
    this.checkShown(object);
  }

  /** Throws if embedded metadata is invalid, which cannot be shown. Drops the unknown fields of embedded metadata. */
  private checkShown(object: KubeObject): void {
    const [failure] = this.options.formOf(this.options.groupVersion)?.schema.coerce(object) ?? [];
    if (failure === undefined) return;
    const { namespace = '', name = '', resourceVersion } = object.metadata;
    const key = namespace === '' ? name : `${namespace}/${name}`;
    throw undecodable([{ key, revision: Number(resourceVersion ?? 0), reason: failure.toString() }]);
  }

  /** Compares in steps, because a large object may take longer than a slice. */
  private *isStoredFormCurrent(object: CachedObject): Generator<undefined, boolean> {
    const stored = object.decode();
    if (stored['apiVersion'] !== this.options.groupVersion) return false;
    yield;
    const copy = object.decode();
    yield;
    try {
      const shown = this.toVersion(copy);
      yield;
      return deepEqual(stored, shown);
    } catch (error) {
      if (error instanceof ApiError || error instanceof StorageError) return false;
      throw error;
    }
  }

  private bytes(object: CachedObject): Uint8Array {
    if (this.isRemote(object)) return this.remoteBytes(object);
    const stored = object.decode();
    const shown = this.toVersion(object.decode());
    return deepEqual(stored, shown) ? object.bytes : encoded(shown, object);
  }
}

function encoded(shown: KubeObject, object: CachedObject): Uint8Array {
  const { head, tail } = encodeObject(shown);
  const version = shown.metadata.resourceVersion ?? String(object.revision);
  return Buffer.from(head + version + tail, 'utf8');
}
