import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { isObject, type JsonObject, objectAt, stringAt, stringsOf } from '../../../apimachinery/json/json.js';
import { parseJson } from '../../../apimachinery/json/decode.js';
import { verificationKey } from '../../../authentication/token/service-account/service-account-keys.js';
import { isEncrypted, TransformError, type Transformer } from '../../../storage/encryption/transformer.js';
import { encodeObject } from '../../../storage/encode.js';
import { StorageError } from '../../../storage/errors.js';
import type { StoreBackend } from '../../../storage/interfaces.js';
import { SHARED_KEYS } from '../../../storage/encryption/never-encrypted.js';
import type { Clock } from '../../../util/clock.js';
import { type DataDirectory, isFresh, type KeyPem, StartError } from '../data-directory.js';
import { refusal } from './refusal.js';
import { decide, type Home, KEY_NAMES, type KeyName, type KeyRecord, type Own } from './rules.js';

const KEY = 'keys';

/** A key in use. */
export interface SharedKey extends KeyPem {
  readonly home: Home;
  /** Former certificates of a CA, whose certificates are still valid. */
  readonly former: readonly string[];
}

export type Keys = Readonly<Record<KeyName, SharedKey>>;

type Records = Readonly<Partial<Record<KeyName, KeyRecord>>>;

export interface SharedKeysOptions {
  readonly backend: StoreBackend;
  readonly directory: Pick<DataDirectory, 'keysOf' | 'create' | 'path'>;
  /** The keys in the files that flags name. */
  readonly files: Partial<Record<KeyName, KeyPem>>;
  /** What encrypts Secrets at this time; undefined if nothing does. */
  readonly transformer: () => Transformer | undefined;
  readonly clock: Clock;
  readonly host: string;
  /** Makes a new key. */
  readonly make: (name: KeyName) => KeyPem;
}

/** The same key has the same fingerprint, whatever certificate it has. */
export const fingerprintOf = ({ key, cert }: KeyPem): string =>
  verificationKey(cert === '' ? createPublicKey(createPrivateKey(key)) : new X509Certificate(cert).publicKey).id;

/** The keys that all servers on one store share (docs/design/shared-keys.md). */
export class SharedKeys {
  /** The keys that this server has in files although the store has others. */
  ignored: readonly KeyName[] = [];

  constructor(private readonly options: SharedKeysOptions) {}

  /** Returns the keys to use. Throws StartError if this server must not start with what it was given. */
  async open(): Promise<Keys> {
    const { backend } = this.options;
    const encryption = await this.encryption();
    for (;;) {
      const stored = await backend.get(SHARED_KEYS, KEY);
      const records = stored === undefined ? {} : recordsIn(stored.bytes);
      const opened = await this.step(records, encryption);
      if ('keys' in opened) return opened.keys;
      const value = encodeObject(document(opened.records));
      // After a conflict another server was faster; after a commit the record is read like anybody's.
      await backend.write({ resource: SHARED_KEYS, key: KEY, expected: stored?.revision ?? 0, value });
    }
  }

  /** Decides about all keys. Returns them, or the records to write first. */
  private async step(
    records: Records,
    encryption: Own['encryption'],
  ): Promise<{ readonly keys: Keys } | { readonly records: Records }> {
    const { directory, files } = this.options;
    const refused: KeyName[] = [];
    const written: Partial<Record<KeyName, KeyRecord>> = {};
    const keys: Partial<Record<KeyName, SharedKey>> = {};
    const ignored: KeyName[] = [];
    for (const name of KEY_NAMES) {
      const known = records[name];
      const given = files[name];
      const held = given === undefined ? directory.keysOf(name) : [];
      const own = { files: given && fingerprintOf(given), directory: held.map(fingerprintOf), encryption };
      if (known?.home === 'store' && own.files !== undefined && own.files !== known.fingerprint) ignored.push(name);
      const step = decide(known, own);
      if (step.kind === 'refuse') refused.push(name);
      else if (step.kind === 'record') written[name] = await this.recordOf(name, step.home, held, known);
      else if (step.home === 'store') {
        const { key, renewed } = await this.unseal(name, known, encryption);
        keys[name] = key;
        if (renewed !== undefined) written[name] = renewed;
      } else keys[name] = { ...(given ?? present(held[0])), home: step.home, former: [] };
    }
    this.ignored = ignored;
    if (refused.length > 0) throw new StartError(refusal(refused, records, directory.path, encryption.writes));
    return Object.keys(written).length === 0 ? { keys: keys as Keys } : { records: { ...records, ...written } };
  }

  private async recordOf(
    name: KeyName,
    home: Home,
    held: readonly KeyPem[],
    known: KeyRecord | undefined,
  ): Promise<KeyRecord> {
    const { directory, files, make } = this.options;
    if (home === 'files') return this.record(home, present(files[name]));
    if (home === 'directory') return this.record(home, held[0] ?? directory.create(name));
    const recorded = held.find((pair) => fingerprintOf(pair) === known?.fingerprint);
    return this.sealed(name, recorded ?? held[0] ?? make(name), []);
  }

  private record(home: Home, pair: KeyPem): KeyRecord {
    return { home, fingerprint: fingerprintOf(pair), host: this.options.host };
  }

  private async sealed(name: KeyName, pair: KeyPem, former: readonly string[]): Promise<KeyRecord> {
    const plain = Buffer.from(JSON.stringify({ key: pair.key, cert: pair.cert, former }));
    const sealed = await attempt(async () => this.options.transformer()?.toStorage(plain, contextOf(name)) ?? plain);
    // The configuration may have changed since it was asked: never store a key in clear.
    if (!isEncrypted(sealed)) throw new StorageError('unavailable', 'Secrets are not encrypted any more');
    return { ...this.record('store', pair), sealed: Buffer.from(sealed).toString('base64') };
  }

  /** Returns a key that the store has, and its record if that is to be written again: with the current encryption key, or with a new CA. */
  private async unseal(
    name: KeyName,
    known: KeyRecord | undefined,
    { writes }: Own['encryption'],
  ): Promise<{ readonly key: SharedKey; readonly renewed?: KeyRecord }> {
    const { transformer, clock, make } = this.options;
    const bytes = Buffer.from(known?.sealed ?? '', 'base64');
    const opened = await attempt(async () => transformer()?.fromStorage(bytes, contextOf(name))).catch(
      (error: unknown) => {
        if (!(error instanceof TransformError)) throw error;
        throw new StartError(
          `the ${name} key in MongoDB cannot be decrypted (${error.message}): --encryption-provider-config must have the key that ${known?.host ?? ''} encrypted it with`,
        );
      },
    );
    if (opened === undefined) throw new StorageError('unavailable', 'Secrets are not encrypted any more');
    const content = parseJson(Buffer.from(opened.data));
    if (!isObject(content)) throw new StorageError('corrupt', `the ${name} key in MongoDB is damaged`);
    const pair = { key: stringAt(content, 'key') ?? '', cert: stringAt(content, 'cert') ?? '' };
    const former = stringsOf(content['former']).filter(
      (cert) => Date.parse(new X509Certificate(cert).validTo) > clock.now(),
    );
    const key = { ...pair, home: 'store' as const, former };
    if (!writes) return { key };
    if (pair.cert !== '' && !isFresh(new X509Certificate(pair.cert), clock.now()))
      return { key, renewed: await this.sealed(name, make(name), [pair.cert, ...former]) };
    return opened.stale ? { key, renewed: await this.sealed(name, pair, former) } : { key };
  }

  /** Finds out what the transformer does: the first provider may be `identity`. */
  private async encryption(): Promise<Own['encryption']> {
    const { files } = this.options;
    const transformer = this.options.transformer();
    // Who has all keys in files does not wait for a key service.
    if (transformer === undefined || KEY_NAMES.every((name) => files[name] !== undefined))
      return { writes: false, reads: false };
    const probe = await attempt(() => transformer.toStorage(Buffer.from('{}'), contextOf('probe')));
    return { writes: isEncrypted(probe), reads: true };
  }
}

/** A key service that does not answer is waited for, as the store is. */
async function attempt<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof TransformError && error.temporary)
      throw new StorageError('unavailable', `the keys in the database cannot be decrypted yet: ${error.message}`);
    throw error;
  }
}

const contextOf = (name: string): Uint8Array => Buffer.from(`${SHARED_KEYS}\0${name}`);

function present(pair: KeyPem | undefined): KeyPem {
  if (pair === undefined) throw new Error('there is no key');
  return pair;
}

const document = (records: Records): JsonObject => ({
  apiVersion: 'internal.kubeannex.io/v1',
  kind: 'SharedKeys',
  metadata: { name: KEY },
  keys: Object.fromEntries(
    Object.entries(records).map(([name, { home, fingerprint, host, sealed }]) => [
      name,
      { home, fingerprint, host, ...(sealed !== undefined && { sealed }) },
    ]),
  ),
});

const HOMES: readonly string[] = ['files', 'directory', 'store'] satisfies readonly Home[];

function recordsIn(bytes: Uint8Array): Records {
  const stored = parseJson(Buffer.from(bytes));
  const keys = isObject(stored) ? objectAt(stored, 'keys') : undefined;
  const records: Partial<Record<KeyName, KeyRecord>> = {};
  for (const name of KEY_NAMES) {
    const record = objectAt(keys, name);
    if (record === undefined) continue;
    const home = stringAt(record, 'home') ?? '';
    // A later version may know more homes; to guess what they mean could give two servers different keys.
    if (!HOMES.includes(home))
      throw new StartError(`MongoDB says of the ${name} key what this version does not know: ${home}`);
    records[name] = {
      home: home as Home,
      fingerprint: stringAt(record, 'fingerprint') ?? '',
      host: stringAt(record, 'host') ?? '',
      sealed: stringAt(record, 'sealed'),
    };
  }
  return records;
}

/** Returns the keys of the only server on a store: those of the files, and otherwise those of the data directory. */
export function ownKeys({ directory, files }: Pick<SharedKeysOptions, 'directory' | 'files'>): Keys {
  const keyOf = (name: KeyName): SharedKey => {
    const given = files[name];
    const pair = given ?? directory.keysOf(name)[0] ?? directory.create(name);
    return { ...pair, home: given === undefined ? 'directory' : 'files', former: [] };
  };
  return {
    'serving-ca': keyOf('serving-ca'),
    'client-ca': keyOf('client-ca'),
    'service-account': keyOf('service-account'),
  };
}
