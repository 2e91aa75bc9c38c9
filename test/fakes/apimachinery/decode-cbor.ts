import { CborError, CborReader } from '../../../src/apimachinery/cbor/reader.js';
import type { JsonValue } from '../../../src/apimachinery/json/json.js';

/** Decodes one data item. Throws CborError if it is malformed or contains something that JSON cannot represent. */
export function decodeCbor(bytes: Uint8Array): JsonValue {
  const reader = new CborReader(bytes);
  const value = reader.read();
  if (reader.problem !== undefined) throw new CborError(reader.problem);
  return value;
}
