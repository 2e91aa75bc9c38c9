import protobuf from 'protobufjs';

const { Field, MapField, Type } = protobuf;

export type Annotations = Readonly<Record<string, Uint8Array>>;

/** The values of fields that are absent on the wire. */
const EMPTY = { string: '', bytes: new Uint8Array(), int32: 0, map: {} } as const;

/** A message of the KMS v2 API, or the stored record. */
class Message<T extends object> {
  private readonly type: protobuf.Type;

  constructor(
    name: string,
    private readonly fields: readonly (readonly [string & keyof T, keyof typeof EMPTY])[],
  ) {
    this.type = new Type(name);
    fields.forEach(([field, kind], i) => {
      this.type.add(kind === 'map' ? new MapField(field, i + 1, 'string', 'bytes') : new Field(field, i + 1, kind));
    });
  }

  encode(value: T): Uint8Array {
    return this.type.encode(value).finish();
  }

  /** Throws if the bytes are not such a message. */
  decode(bytes: Uint8Array): T {
    const decoded = this.type.decode(bytes) as unknown as Record<string, unknown>;
    return Object.fromEntries(
      this.fields.map(([name, kind]) => [name, Object.hasOwn(decoded, name) ? decoded[name] : EMPTY[kind]]),
    ) as T;
  }
}

export interface StatusResponse {
  readonly version: string;
  readonly healthz: string;
  readonly keyId: string;
}

export interface EncryptRequest {
  readonly plaintext: Uint8Array;
  readonly uid: string;
}

export interface EncryptResponse {
  readonly ciphertext: Uint8Array;
  readonly keyId: string;
  readonly annotations: Annotations;
}

export interface DecryptRequest {
  readonly ciphertext: Uint8Array;
  readonly uid: string;
  readonly keyId: string;
  readonly annotations: Annotations;
}

export interface DecryptResponse {
  readonly plaintext: Uint8Array;
}

/** The stored record: the ciphertext, and the data from which its key is obtained. */
export interface EncryptedObject {
  readonly encryptedData: Uint8Array;
  readonly keyID: string;
  readonly encryptedDEKSource: Uint8Array;
  readonly annotations: Annotations;
  /** 0: a key for AES-GCM, 1: a seed, see SeededGcm. */
  readonly encryptedDEKSourceType: number;
}

export const statusRequest = new Message<object>('StatusRequest', []);
export const statusResponse = new Message<StatusResponse>('StatusResponse', [
  ['version', 'string'],
  ['healthz', 'string'],
  ['keyId', 'string'],
]);
export const encryptRequest = new Message<EncryptRequest>('EncryptRequest', [
  ['plaintext', 'bytes'],
  ['uid', 'string'],
]);
export const encryptResponse = new Message<EncryptResponse>('EncryptResponse', [
  ['ciphertext', 'bytes'],
  ['keyId', 'string'],
  ['annotations', 'map'],
]);
export const decryptRequest = new Message<DecryptRequest>('DecryptRequest', [
  ['ciphertext', 'bytes'],
  ['uid', 'string'],
  ['keyId', 'string'],
  ['annotations', 'map'],
]);
export const decryptResponse = new Message<DecryptResponse>('DecryptResponse', [['plaintext', 'bytes']]);
export const encryptedObject = new Message<EncryptedObject>('EncryptedObject', [
  ['encryptedData', 'bytes'],
  ['keyID', 'string'],
  ['encryptedDEKSource', 'bytes'],
  ['annotations', 'map'],
  ['encryptedDEKSourceType', 'int32'],
]);
