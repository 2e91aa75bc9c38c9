import { goKind, JsonError, parseJson } from '../apimachinery/json/decode.js';
import { isObject } from '../apimachinery/json/json.js';
import { StorageError, type Undecodable } from './errors.js';
import { isEncrypted, READ_BY_NOBODY } from './encryption/transformer.js';
import type { StoredObject } from './interfaces.js';

/** Why stored bytes are no object, in the words of kube-apiserver's decoder; undefined where they are one. */
function whyUndecodable(bytes: Uint8Array): string | undefined {
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

/** What an error says of one object whose bytes cannot be decoded. */
export const describeUndecodable = ({
  key,
  revision,
  bytes,
  unreadable,
}: Pick<StoredObject, 'key' | 'revision' | 'bytes' | 'unreadable'>): Undecodable =>
  unreadable === undefined && !isEncrypted(bytes)
    ? { key, revision, why: whyUndecodable(bytes) ?? 'the object cannot be used' }
    : { key, revision, why: unreadable ?? READ_BY_NOBODY, isUntransformable: true };

/** A read that met objects which cannot be decoded. */
export const undecodable = (objects: readonly Undecodable[]): StorageError =>
  new StorageError('corrupt', objects[0]?.why ?? '', { undecodable: objects });
