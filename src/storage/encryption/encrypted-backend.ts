import type { JsonObject } from '../../apimachinery/json/json.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { Clock } from '../../util/clock.js';
import type { StorageError } from '../errors.js';
import type {
  LocalStates,
  Backend,
  EncodedObject,
  EventStream,
  ListOptions,
  LogEvent,
  ObjectStore,
  Revision,
  StagedObject,
  Staging,
  StoredList,
  StoredObject,
  WriteRequest,
  WriteResult,
} from '../interfaces.js';
import { layered } from '../layered.js';
import { encodedBytes, NO_BYTES, withRevision } from '../object-bytes.js';
import { undecodable } from '../undecodable.js';
import { decryptedKept } from './decrypted-kept.js';
import { type Decrypted, identity, isEncrypted, TransformError, type Transformer } from './transformer.js';

/** The transformers of types; undefined for a type that is not encrypted. */
interface TypeTransformers {
  of(resource: string): Transformer | undefined;
}

export interface EncryptedBackendOptions {
  readonly backend: Backend;
  readonly transformers: TypeTransformers;
  readonly clock: Clock;
  /** Called when an object of a type could not be read; the caches hold it as unreadable. */
  onUnreadable(resource: string, key: string): void;
}

/**
 * Returns a backend that encrypts the objects stored in another one. The other backend sees opaque bytes and the keys of objects, and
 * nothing else of them. Types without a transformer pass through; only the first bytes of their objects are inspected.
 */
export function encryptedBackend(options: EncryptedBackendOptions): Backend {
  const { backend, transformers } = options;
  const { staging, indexes, localStates, kept } = backend;
  const encryptor = new Encryptor(options);
  const isClear = (resource: string): boolean => transformers.of(resource) === undefined;
  return layered(backend, {
    get: (resource, key) => encryptor.get(resource, key),
    list: (resource, listOptions) => encryptor.list(resource, listOptions),
    write: (request) => encryptor.write(request),
    events: (after, signal) => encryptor.events(backend.events(after, signal)),
    staging: staging && { copy: (name) => new EncryptedStaging(staging.copy(name), encryptor) },
    // Encrypted objects have no fields to index.
    indexes: indexes && { keep: (resource, fields) => indexes.keep(resource, isClear(resource) ? fields : []) },
    // Decryption is asynchronous, so encrypted objects cannot be read synchronously.
    localStates: localStates && {
      of: (resource) => (isClear(resource) ? plaintextOnly(localStates.of(resource)) : undefined),
    },
    kept: kept && decryptedKept(kept, { isClear, open: (resource, stored) => encryptor.decrypt(resource, stored) }),
  });
}

class Encryptor {
  private readonly inner: ObjectStore;

  constructor(private readonly options: EncryptedBackendOptions) {
    this.inner = options.backend;
  }

  async write(request: WriteRequest): Promise<WriteResult> {
    const { transformers } = this.options;
    const { resource, key, value } = request;
    if (transformers.of(resource) === undefined) return this.decryptResult(resource, await this.inner.write(request));
    // The state that the caller knows is in clear text, and the backend would store it as the previous state.
    const { previous: _, ...rest } = request;
    if (value === undefined) return this.decryptResult(resource, await this.inner.write(rest));
    const sealed = await this.encrypt(resource, key, value);
    if (sealed === value) return this.decryptResult(resource, await this.inner.write(request));
    const result = await this.inner.write({ ...rest, value: sealed });
    if (result.outcome === 'conflict') return this.decryptResult(resource, result);
    const { object } = result;
    return { outcome: 'committed', object: { ...object, bytes: encodedBytes(value, object.revision) } };
  }

  /** Returns the object in the form that the backend gets: unchanged if its type is not encrypted. */
  async encrypt(resource: string, key: string, value: EncodedObject): Promise<EncodedObject> {
    const transformer = this.options.transformers.of(resource);
    if (transformer === undefined) return value;
    const plain = encodedBytes(value, 0);
    try {
      const sealed = await transformer.toStorage(plain, contextOf(resource, key));
      return sealed === plain ? value : new SealedObject(value, sealed);
    } catch (error) {
      throw error instanceof TransformError ? untransformable(key, 0, error) : error;
    }
  }

  async get(resource: string, key: string): Promise<StoredObject | undefined> {
    const stored = await this.inner.get(resource, key);
    return stored && this.decrypt(resource, stored);
  }

  /** Lists objects. If a KMS provider does not respond, the whole list fails: nothing of it is kept, and the next list tries again. */
  async list(resource: string, options: ListOptions): Promise<StoredList> {
    const { clock, transformers } = this.options;
    const list = await this.inner.list(resource, options);
    if (transformers.of(resource) === undefined && !list.items.some(({ bytes }) => isEncrypted(bytes))) return list;
    const items: StoredObject[] = [];
    const slicer = new Slicer(clock);
    for (const stored of list.items) {
      items.push(await this.decrypt(resource, stored, { strict: true }));
      if (slicer.isExhausted) await slicer.yield();
    }
    return { ...list, items };
  }

  async *events(batches: EventStream): AsyncGenerator<readonly LogEvent[]> {
    for await (const batch of batches) {
      if (!batch.some((event) => this.needsDecryption(event))) {
        yield batch;
        continue;
      }
      const events: LogEvent[] = [];
      for (const event of batch) events.push(this.needsDecryption(event) ? await this.decryptEvent(event) : event);
      yield events;
    }
  }

  private needsDecryption({ resource, object, previous }: LogEvent): boolean {
    return (
      this.options.transformers.of(resource) !== undefined ||
      isEncrypted(object.bytes) ||
      (previous !== undefined && isEncrypted(previous.bytes))
    );
  }

  private async decryptEvent(event: LogEvent): Promise<LogEvent> {
    const { resource, key, type, revision } = event;
    const previous = event.previous && (await this.decrypt(resource, event.previous));
    if (type === 'DELETED' && previous !== undefined)
      return { ...event, previous, object: { ...previous, revision, bytes: withRevision(previous.bytes, revision) } };
    const object = await this.decrypt(resource, event.object);
    if (object.unreadable !== undefined) this.options.onUnreadable(resource, key);
    return { ...event, previous, object };
  }

  /** Returns an object in the form that callers know, or with the reason in `unreadable` if it cannot be decrypted. */
  async decrypt(resource: string, stored: StoredObject, { strict = false } = {}): Promise<StoredObject> {
    const transformer = this.options.transformers.of(resource) ?? identity;
    const { key, revision } = stored;
    let opened: Decrypted;
    try {
      opened = await transformer.fromStorage(stored.bytes, contextOf(resource, key));
    } catch (error) {
      if (!(error instanceof TransformError)) throw error;
      if (strict && error.temporary) throw untransformable(key, revision, error);
      const { object: _, attributes: __, ...rest } = stored;
      if (strict) this.options.onUnreadable(resource, key);
      return { ...rest, bytes: NO_BYTES, unreadable: error.message };
    }
    const bytes = opened.data === stored.bytes ? stored.bytes : withRevision(opened.data, revision);
    return { ...stored, bytes, ...(opened.stale ? { stale: true } : {}) };
  }

  private async decryptResult(resource: string, result: WriteResult): Promise<WriteResult> {
    if (result.outcome === 'conflict')
      return { outcome: 'conflict', current: result.current && (await this.decrypt(resource, result.current)) };
    if (this.options.transformers.of(resource) === undefined && !isEncrypted(result.object.bytes)) return result;
    return { outcome: 'committed', object: await this.decrypt(resource, result.object) };
  }
}

/** Copies of another store, encrypted like the objects of the type that they become. */
class EncryptedStaging implements Staging {
  constructor(
    private readonly staging: Staging,
    private readonly encryptor: Encryptor,
  ) {}

  revisions(resource: string): Promise<Map<string, Revision>> {
    return this.staging.revisions(resource);
  }

  async states(resource: string, keys: readonly string[]): Promise<Map<string, StoredObject>> {
    const opened = new Map<string, StoredObject>();
    for (const [key, stored] of await this.staging.states(resource, keys))
      opened.set(key, await this.encryptor.decrypt(resource, stored, { strict: true }));
    return opened;
  }

  async put(resource: string, objects: readonly StagedObject[]): Promise<void> {
    const sealed: StagedObject[] = [];
    for (const object of objects) {
      const value = await this.encryptor.encrypt(resource, object.key, object.value);
      sealed.push(value === object.value ? object : { ...object, value });
    }
    await this.staging.put(resource, sealed);
  }

  remove(resource: string, keys: readonly string[]): Promise<void> {
    return this.staging.remove(resource, keys);
  }

  drop(): Promise<void> {
    return this.staging.drop();
  }

  install(resource: string): Promise<void> {
    return this.staging.install(resource);
  }

  discard(resource: string): Promise<void> {
    return this.staging.discard(resource);
  }
}

/** Wraps the synchronous reads of a type that is not encrypted. Some of its objects may have been encrypted before. */
function plaintextOnly(states: LocalStates | undefined): LocalStates | undefined {
  if (states === undefined) return undefined;
  return {
    ...states,
    read: (key, revision) => {
      const stored = states.read(key, revision);
      return stored !== undefined && isEncrypted(stored.bytes) ? undefined : stored;
    },
    walk: async (visit) => {
      let encrypted = 0;
      const revision = await states.walk((object) => {
        if (object.keptLength === undefined && isEncrypted(object.bytes)) encrypted++;
        else if (encrypted === 0) visit(object);
      });
      return encrypted === 0 ? revision : undefined;
    },
  };
}

/** Returns the data that is authenticated with an object's bytes: where they are stored. */
const contextOf = (resource: string, key: string): Uint8Array => Buffer.from(`${resource}\0${key}`);

/** The value that a backend gets to store, without its text. */
class SealedObject implements EncodedObject {
  readonly head = '';
  readonly tail = '';
  readonly flags: number;
  readonly attributes: EncodedObject['attributes'];

  constructor(
    private readonly value: EncodedObject,
    readonly sealed: Uint8Array,
  ) {
    this.flags = value.flags;
    this.attributes = value.attributes;
  }

  /** The decoded object, kept in memory next to the bytes. If another thread encoded the value, it is decoded on first use. */
  get object(): JsonObject {
    return this.value.object;
  }
}

const untransformable = (key: string, revision: number, error: TransformError): StorageError =>
  undecodable([{ key, revision, reason: error.message, isUntransformable: true }]);
