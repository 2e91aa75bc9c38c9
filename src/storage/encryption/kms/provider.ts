import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { aggregateMessages, asError, messageOf } from '../../../util/error-message.js';
import { hashLabel } from '../../../util/files/config-metrics.js';
import type { Clock, Timer } from '../../../util/clock.js';
import { LruCache } from '../../../util/caches/lru-cache.js';
import { Gcm, SeededGcm } from '../ciphers.js';
import { type Decrypted, TransformError, type Transformer } from '../transformer.js';
import {
  type Annotations,
  encryptedObject,
  type EncryptedObject,
  type EncryptResponse,
  type StatusResponse,
} from './messages.js';
import type { KmsService } from './service.js';

/** The intervals of kube-apiserver. */
const POSITIVE_INTERVAL = 60_000;
const NEGATIVE_INTERVAL = 10_000;
/** A key that the provider has not confirmed for this long is not used for writes any more, but still for reads. */
const WRITE_TTL = 180_000;
const POSITIVE_TTL = 20_000;
const NEGATIVE_TTL = 3_000;
const SEED = 32;
const SEED_TYPE = 1;
const MAX_KEY_ID = 1024;
const MAX_DEK_SOURCE = 1024;
const MAX_ANNOTATIONS = 32 * 1024;
const MAX_KEYS = 10_000;

export interface KmsObserver {
  /** Called when a record was read or written with a key of the provider. */
  keyUsed(type: 'from_storage' | 'to_storage', provider: string, keyId: string): void;
  keyStatus(provider: string, keyId: string): void;
  invalidKeyId(provider: string, error: 'empty' | 'too_long'): void;
  cacheMissed(): void;
  cacheSize(provider: string, size: number): void;
  keyGenerated(millis: number): void;
}

export interface KmsProviderOptions {
  readonly name: string;
  readonly service: KmsService;
  readonly clock: Clock;
  readonly observer: KmsObserver;
  /** Called when the provider is unhealthy; for the log. */
  failed(error: Error): void;
}

/** The seed that encrypts writes. */
interface State {
  readonly transformer: Transformer;
  readonly keyId: string;
  readonly source: Uint8Array;
  readonly annotations: Annotations;
  readonly cacheKey: string;
  /** In monotonic milliseconds. */
  expires: number;
}

/** Envelope encryption: objects are encrypted with keys derived from a seed, and the seed with a key that only the provider has. */
export class KmsProvider implements Transformer {
  private state: State | undefined;
  private version = '';
  private checked: { readonly at: number; readonly ttl: number; readonly error: Error | undefined } | undefined;
  private checking: Promise<void> | undefined;
  private timer: Timer | undefined;
  private closed = false;
  private readonly keys = new LruCache<string, Transformer>({ capacity: MAX_KEYS });
  /** Seeds being decrypted by the provider, so that a list requests each of them once. */
  private readonly inFlight = new Map<string, Promise<Transformer>>();

  constructor(private readonly options: KmsProviderOptions) {}

  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.options.service.close();
  }

  /** Throws the reason if the provider is unhealthy. */
  async check(): Promise<void> {
    const { clock } = this.options;
    if (this.checked === undefined || clock.monotonic() - this.checked.at >= this.checked.ttl) {
      this.checking ??= this.probe().finally(() => (this.checking = undefined));
      await this.checking;
    }
    if (this.checked?.error !== undefined) throw this.checked.error;
  }

  async fromStorage(data: Uint8Array, context: Uint8Array): Promise<Decrypted> {
    const { name, observer } = this.options;
    const object = decodeObject(data);
    const state = this.current();
    const transformer = await this.keyOf(object);
    observer.keyUsed('from_storage', name, object.keyID);
    const { data: plain, stale } = await transformer.fromStorage(object.encryptedData, context);
    return {
      data: plain,
      stale: stale || object.keyID !== state.keyId || object.encryptedDEKSourceType !== SEED_TYPE,
    };
  }

  async toStorage(data: Uint8Array, context: Uint8Array): Promise<Uint8Array> {
    const { name, observer, clock } = this.options;
    const state = this.current();
    if (clock.monotonic() > state.expires) {
      const at = new Date(clock.now() - (clock.monotonic() - state.expires));
      throw new TransformError(
        `encryptedDEKSource with keyID hash ${JSON.stringify(hashLabel(state.keyId))} expired at ${seconds(at)} (current time is ${seconds(new Date(clock.now()))})`,
        { temporary: true },
      );
    }
    this.remember(state.cacheKey, state.transformer);
    const encryptedData = await state.transformer.toStorage(data, context);
    observer.keyUsed('to_storage', name, state.keyId);
    return encryptedObject.encode({
      encryptedData,
      keyID: state.keyId,
      encryptedDEKSource: state.source,
      annotations: state.annotations,
      encryptedDEKSourceType: SEED_TYPE,
    });
  }

  private current(): State {
    if (this.state === undefined) throw new TransformError('got unexpected nil transformer', { temporary: true });
    return this.state;
  }

  private remember(key: string, transformer: Transformer): void {
    this.keys.set(key, transformer);
    this.options.observer.cacheSize(this.options.name, this.keys.size);
  }

  private keyOf(object: EncryptedObject): Promise<Transformer> | Transformer {
    const key = cacheKeyOf(object.encryptedDEKSourceType, object.encryptedDEKSource, object.keyID, object.annotations);
    const known = this.keys.get(key);
    if (known !== undefined) return known;
    let asked = this.inFlight.get(key);
    if (asked === undefined) {
      asked = this.decrypt(object, key).finally(() => this.inFlight.delete(key));
      this.inFlight.set(key, asked);
    }
    return asked;
  }

  private async decrypt(object: EncryptedObject, cacheKey: string): Promise<Transformer> {
    this.options.observer.cacheMissed();
    let key: Uint8Array;
    try {
      key = await this.options.service.decrypt({
        ciphertext: object.encryptedDEKSource,
        uid: randomUUID(),
        keyId: object.keyID,
        annotations: object.annotations,
      });
    } catch (error) {
      const status = error instanceof TransformError ? error.status : undefined;
      throw new TransformError(`failed to decrypt DEK, error: ${messageOf(error)}`, { temporary: true, status });
    }
    const transformer = object.encryptedDEKSourceType === SEED_TYPE ? new SeededGcm(key) : new Gcm(key);
    this.remember(cacheKey, transformer);
    return transformer;
  }

  /** Requests a key, and keeps checking it. An unavailable provider is not an error. */
  async start(): Promise<void> {
    let well = true;
    try {
      await this.check();
    } catch (error) {
      well = false;
      this.options.failed(asError(error));
    }
    if (this.closed) return;
    this.timer = this.options.clock.setTimer(well ? POSITIVE_INTERVAL : NEGATIVE_INTERVAL, () => void this.start());
  }

  private async probe(): Promise<void> {
    const { clock, name, service } = this.options;
    let error: Error | undefined;
    try {
      const status = await service.status().catch((cause: unknown) => {
        throw new Error(
          `failed to perform status section of the healthz check for KMS Provider ${name}, error: ${messageOf(cause)}`,
        );
      });
      const errors = await this.judge(status);
      if (errors.length > 0) {
        error = new Error(`kmsv2 Provider ${name} is not healthy, error: ${aggregateMessages(errors)}`);
      }
    } catch (cause) {
      error = asError(cause);
    }
    this.checked = { at: clock.monotonic(), ttl: error === undefined ? POSITIVE_TTL : NEGATIVE_TTL, error };
  }

  private async judge(status: StatusResponse): Promise<string[]> {
    const { name, observer } = this.options;
    const errors: string[] = [];
    if (status.healthz !== 'ok') errors.push(`got unexpected healthz status: ${status.healthz}`);
    if (status.version !== 'v2' && status.version !== 'v2beta1') {
      errors.push(`expected KMSv2 API version v2, got ${status.version}`);
    } else {
      if (this.version === '') this.version = status.version;
      if (this.version !== status.version)
        errors.push(
          `KMSv2 API version should not change after the initial status response version ${this.version}, got ${status.version}`,
        );
    }
    const why = invalidKeyIdReason(status.keyId);
    if (why !== undefined) {
      observer.invalidKeyId(name, status.keyId === '' ? 'empty' : 'too_long');
      errors.push(`got invalid KMSv2 KeyID hash ${JSON.stringify(hashLabel(status.keyId))}: ${why}`);
      return errors;
    }
    observer.keyStatus(name, status.keyId);
    try {
      await this.rotate(status.keyId);
    } catch (error) {
      errors.push(messageOf(error));
    }
    return errors;
  }

  /** Creates a new seed if the provider has a new key; otherwise extends the lifetime of the current one. */
  private async rotate(keyId: string): Promise<void> {
    const { clock, service, observer } = this.options;
    const expires = clock.monotonic() + WRITE_TTL;
    if (this.state?.keyId === keyId) {
      this.state.expires = expires;
      return;
    }
    const uid = randomUUID();
    const begun = clock.monotonic();
    const seed = randomBytes(SEED);
    observer.keyGenerated(clock.monotonic() - begun);
    let answer: EncryptResponse;
    try {
      answer = await service.encrypt({ plaintext: seed, uid });
      checkEnvelope(answer.keyId, answer.ciphertext, answer.annotations);
      if (answer.keyId !== keyId) throw new TransformError('<nil>');
    } catch (error) {
      const hash = (text: string | undefined): string => JSON.stringify(hashLabel(text ?? ''));
      throw new TransformError(
        `failed to rotate DEK uid=${JSON.stringify(uid)}, useSeed=true, errState=${this.state === undefined ? 'got unexpected nil transformer' : '<nil>'}, errGen=${messageOf(error)}, statusKeyIDHash=${hash(keyId)}, stateKeyIDHash=${hash(this.state?.keyId)}`,
        { temporary: true },
      );
    }
    const { ciphertext: source, annotations } = answer;
    const cacheKey = cacheKeyOf(SEED_TYPE, source, keyId, annotations);
    this.state = { transformer: new SeededGcm(seed), keyId, source, annotations, cacheKey, expires };
  }
}

function decodeObject(data: Uint8Array): EncryptedObject {
  let object: EncryptedObject;
  try {
    object = encryptedObject.decode(data);
  } catch (error) {
    throw new TransformError(`proto: ${messageOf(error)}`);
  }
  const { encryptedDEKSourceType: type } = object;
  if (type !== 0 && type !== SEED_TYPE) throw new TransformError(`unknown encryptedDEKSourceType: ${type}`);
  if (object.encryptedData.length === 0) throw new TransformError('encrypted data is empty');
  checkEnvelope(object.keyID, object.encryptedDEKSource, object.annotations);
  return object;
}

function checkEnvelope(keyId: string, source: Uint8Array, annotations: Annotations): void {
  const refuse = (what: string, why: string): never => {
    throw new TransformError(`failed to validate ${what}: ${why}`);
  };
  if (source.length === 0) refuse('encrypted DEK source', 'encrypted DEK source is empty');
  if (source.length > MAX_DEK_SOURCE)
    refuse(
      'encrypted DEK source',
      `encrypted DEK source is ${source.length} bytes, which exceeds the max size of ${MAX_DEK_SOURCE}`,
    );
  const why = invalidKeyIdReason(keyId);
  if (why !== undefined) refuse('key id', why);
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) size += Buffer.byteLength(key) + value.length;
  if (size > MAX_ANNOTATIONS)
    refuse('annotations', `total size of annotations is ${size}, which exceeds the max size of ${MAX_ANNOTATIONS}`);
}

function invalidKeyIdReason(keyId: string): string | undefined {
  const size = Buffer.byteLength(keyId);
  if (size === 0) return 'keyID is empty';
  return size > MAX_KEY_ID ? `keyID is ${size} bytes, which exceeds the max size of ${MAX_KEY_ID}` : undefined;
}

function cacheKeyOf(type: number, source: Uint8Array, keyId: string, annotations: Annotations): string {
  const hash = createHash('sha256');
  const add = (bytes: Uint8Array | string): void => {
    hash.update(`${Buffer.byteLength(bytes)}:`).update(bytes);
  };
  add(String(type));
  add(source);
  add(keyId);
  for (const name of Object.keys(annotations).sort()) {
    add(name);
    add(annotations[name] ?? '');
  }
  return hash.digest('base64');
}

const seconds = (date: Date): string => date.toISOString().replace(/\.\d+/, '');
