import { goKind, JsonError, parseJson } from '../apimachinery/json/decode.js';
import { isObject } from '../apimachinery/json/json.js';
import { StorageError, type Undecodable } from './errors.js';
import { isEncrypted, IDENTITY_READ_ENCRYPTED } from './encryption/transformer.js';
import type { StoredObject } from './interfaces.js';

/** Returns why stored bytes are not an object, in the words of kube-apiserver's decoder, or undefined if they are one. */
function undecodableReason(bytes: Uint8Array): string | undefined {
  try {
    const value = parseJson(bytes);
    if (isObject(value)) return undefined;
    if (value === null) return "Object 'Kind' is missing in 'null'";
    return `json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`;
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

/** Describes one object whose bytes cannot be decoded. */
export const describeUndecodable = ({
  key,
  revision,
  bytes,
  unreadable,
}: Pick<StoredObject, 'key' | 'revision' | 'bytes' | 'unreadable'>): Undecodable =>
  unreadable === undefined && !isEncrypted(bytes)
    ? { key, revision, reason: undecodableReason(bytes) ?? 'the object cannot be used' }
    : { key, revision, reason: unreadable ?? IDENTITY_READ_ENCRYPTED, isUntransformable: true };

/** Returns the error of a read that found objects which cannot be decoded. */
export const undecodable = (objects: readonly Undecodable[]): StorageError =>
  new StorageError('corrupt', objects[0]?.reason ?? '', { undecodable: objects });
