import { ApiError } from '../../apimachinery/errors.js';
import { deepEqual, type JsonObject, stringAt } from '../../apimachinery/json.js';
import type { KubeObject } from '../../apimachinery/meta.js';
import type { CompiledSchema } from '../../schema/interfaces.js';
import type { CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import { encodeObject } from '../../storage/encode.js';

/** Converts whole objects between versions of a type. What is given is not changed, but may be shared. */
export interface Conversion {
  convert(object: KubeObject, groupVersion: string): KubeObject;
}

/** Strategy None: versions differ in their apiVersion alone. */
export const noConversion: Conversion = {
  convert: (object, groupVersion) =>
    object.apiVersion === groupVersion ? object : { ...object, apiVersion: groupVersion },
};

/** What decoding an object of one version takes. */
export interface VersionForm {
  readonly schema: CompiledSchema;
  readonly preserveUnknownFields: boolean;
}

export interface CustomViewOptions {
  readonly id: string;
  readonly groupVersion: string;
  /** The form of a version of the type, `group/version`; undefined where the type has no such version. */
  readonly formOf: (groupVersion: string) => VersionForm | undefined;
  readonly conversion: Conversion;
  /** The version is the storage version. */
  readonly isStorage: boolean;
}

/** Objects looked at before other work gets its turn. */
const SLICE = 50;

/**
 * How stored custom resources look in one version: pruned and with defaults in the version in which they were stored, as if they
 * had been written today, then converted, and pruned again. As soon as `verify` has found that no stored object looks different, the stored bytes themselves are what is shown.
 */
export class CustomView {
  readonly json: Representation & { identity: boolean };

  constructor(private readonly options: CustomViewOptions) {
    this.json = { id: options.id, identity: false, separator: ',', render: (object) => this.bytes(object) };
  }

  toObject(object: CachedObject): KubeObject {
    return this.present(object.decode());
  }

  /**
   * Looks at all objects of the type, in slices. Writes under an earlier definition must have ended before; later ones are made by
   * this one and need no look. Ends early when the signal aborts.
   */
  async verify(objects: Iterable<CachedObject>, signal: AbortSignal): Promise<void> {
    if (!this.options.isStorage) return;
    let n = 0;
    for (const object of objects) {
      if (object.undecodable || !this.isAsStored(object)) return;
      if (++n % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
      if (signal.aborted) return;
    }
    this.json.identity = true;
  }

  /** Takes over the tree given. */
  private present(stored: JsonObject): KubeObject {
    const { formOf, conversion, groupVersion } = this.options;
    const storedAs = stringAt(stored, 'apiVersion') ?? '';
    const form = formOf(storedAs);
    if (form === undefined) {
      throw new ApiError(500, '', `request to convert CR from an invalid group/version: ${storedAs}`);
    }
    if (!form.preserveUnknownFields) form.schema.prune(stored, false);
    form.schema.applyDefaults(stored);
    if (storedAs === groupVersion) return stored as KubeObject;
    const object = conversion.convert(stored as KubeObject, groupVersion);
    const shown = formOf(groupVersion);
    if (shown !== undefined && !shown.preserveUnknownFields) shown.schema.prune(object, false);
    return object;
  }

  private isAsStored(object: CachedObject): boolean {
    return deepEqual(object.decode(), this.present(object.decode()));
  }

  private bytes(object: CachedObject): Uint8Array {
    const stored = object.decode();
    const shown = this.present(object.decode());
    if (deepEqual(stored, shown)) return object.bytes;
    const { head, tail } = encodeObject(shown);
    const version = stringAt(stored['metadata'] as JsonObject, 'resourceVersion') ?? String(object.revision);
    return Buffer.from(head + version + tail, 'utf8');
  }
}
