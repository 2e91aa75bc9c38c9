import type { Clock } from '../../util/clock.js';
import { aggregateMessages } from '../../util/error-message.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The prefix of encrypted bytes. The JSON text of an object starts with a brace. */
export const ENCRYPTED_PREFIX = 'k8s:enc:';
const ENCRYPTED = Buffer.from(ENCRYPTED_PREFIX);

export interface Decrypted {
  readonly data: Uint8Array;
  /** True if another key or provider than the current one wrote the data: an update that changes nothing rewrites it. */
  readonly stale: boolean;
}

/** Converts an object's bytes to stored bytes and back. `context` is authenticated: the bytes of one object are of no use for another. */
export interface Transformer {
  fromStorage(data: Uint8Array, context: Uint8Array): MaybePromise<Decrypted>;
  toStorage(data: Uint8Array, context: Uint8Array): MaybePromise<Uint8Array>;
}

/** Thrown if bytes cannot be transformed. The message never shows a key or the bytes. */
export class TransformError extends Error {
  override readonly name = 'TransformError';
  /** True if the key service did not respond, so that a retry may succeed. */
  readonly temporary: boolean;
  /** The status label in metrics. */
  readonly status: string;

  constructor(message: string, { temporary = false, status = 'unknown-non-grpc' } = {}) {
    super(message);
    this.temporary = temporary;
    this.status = status;
  }
}

export interface PrefixTransformer {
  /** Empty: handles data that is not encrypted. */
  readonly prefix: string;
  readonly transformer: Transformer;
}

/** Observes every transformation. */
export interface TransformObserver {
  transformed(
    resource: string,
    type: 'from_storage' | 'to_storage',
    prefix: string,
    millis: number,
    error: TransformError | undefined,
  ): void;
}

const hasPrefix = (data: Uint8Array, prefix: Uint8Array): boolean => {
  for (let i = 0; i < prefix.length; i++) if (data[i] !== prefix[i]) return false;
  return true;
};

export const isEncrypted = (data: Uint8Array): boolean => hasPrefix(data, ENCRYPTED);

/** The error for encrypted bytes if nothing can decrypt them. */
export const IDENTITY_READ_ENCRYPTED = 'identity transformer tried to read encrypted data';

/** Stores objects unchanged; cannot read encrypted ones. */
export const identity: Transformer = {
  fromStorage: (data) => {
    if (isEncrypted(data)) throw new TransformError(IDENTITY_READ_ENCRYPTED);
    return { data, stale: false };
  },
  toStorage: (data) => data,
};

/** Writes with the first transformer. Reads with every transformer whose prefix matches, in order, until one succeeds. */
export class PrefixTransformers implements Transformer {
  private readonly all: readonly (PrefixTransformer & { readonly bytes: Uint8Array })[];

  constructor(
    transformers: readonly PrefixTransformer[],
    private readonly noMatch: string,
    /** Absent if nested in another instance, which reports. */
    private readonly report?: {
      readonly resource: string;
      readonly observer: TransformObserver;
      readonly clock: Clock;
    },
  ) {
    this.all = transformers.map((one) => ({ ...one, bytes: Buffer.from(one.prefix) }));
  }

  async fromStorage(data: Uint8Array, context: Uint8Array): Promise<Decrypted> {
    const begun = this.report?.clock.monotonic() ?? 0;
    const errors: TransformError[] = [];
    for (const [i, { prefix, bytes, transformer }] of this.all.entries()) {
      if (!hasPrefix(data, bytes)) continue;
      try {
        const { data: plain, stale } = await transformer.fromStorage(data.subarray(bytes.length), context);
        this.observe('from_storage', prefix === '' ? 'identity' : prefix, begun, undefined);
        return { data: plain, stale: stale || i !== 0 };
      } catch (error) {
        if (!(error instanceof TransformError)) throw error;
        if (prefix === '') continue;
        this.observe('from_storage', prefix, begun, error);
        errors.push(error);
      }
    }
    if (errors.length > 0) throw joined(errors);
    const error = new TransformError(this.noMatch);
    this.observe('from_storage', 'unknown', begun, error);
    throw error;
  }

  async toStorage(data: Uint8Array, context: Uint8Array): Promise<Uint8Array> {
    const begun = this.report?.clock.monotonic() ?? 0;
    const [first] = this.all;
    if (first === undefined) throw new TransformError(this.noMatch);
    try {
      const stored = await first.transformer.toStorage(data, context);
      this.observe('to_storage', first.prefix, begun, undefined);
      return first.prefix === '' ? stored : Buffer.concat([first.bytes, stored]);
    } catch (error) {
      if (error instanceof TransformError) this.observe('to_storage', first.prefix, begun, error);
      throw error;
    }
  }

  private observe(
    type: 'from_storage' | 'to_storage',
    prefix: string,
    begun: number,
    error: TransformError | undefined,
  ): void {
    if (this.report === undefined) return;
    const { resource, observer, clock } = this.report;
    observer.transformed(resource, type, prefix, clock.monotonic() - begun, error);
  }
}

/** Joins errors as Go's aggregate prints them. */
function joined(errors: readonly TransformError[]): TransformError {
  const [first] = errors;
  if (first !== undefined && errors.length === 1) return first;
  const temporary = errors.some((error) => error.temporary);
  return new TransformError(aggregateMessages(errors.map(({ message }) => message)), { temporary });
}
