import type { DetailedJson } from '../json/decode.js';
import { JsonError } from '../json/syntax.js';
import { isObject, type JsonObject, type JsonValue, textAt } from '../json/json.js';
import { CborError, CborReader, cborTypeOf } from '../cbor/reader.js';
import { ContentError, type ProtobufCodec, type TypeMeta } from './protobuf.js';
import { ProtobufError } from './wire.js';

/** The error for a body of which only the type could be read. */
export class UnreadableObjectError extends JsonError {
  constructor(
    message: string,
    readonly type: TypeMeta,
  ) {
    super(message);
  }
}

/** Decodes a CBOR body. Throws JsonError, as for other formats, or UnreadableObjectError for problems that are found only once the type is known. */
export function decodeCborBody(body: Uint8Array): DetailedJson {
  const reader = new CborReader(body);
  const value = readCbor(reader, UNDETERMINED);
  const { problem } = reader;
  if (value !== null && !isObject(value))
    throw new JsonError(`${UNDETERMINED}${cannotUnmarshal(body, value, 'v1.TypeMeta', ARRAY_TO_STRUCT)}`);
  if (problem === undefined)
    return reader.floats.size === 0 ? { value, duplicates: [] } : { value, duplicates: [], floats: reader.floats };
  if (value === null || reader.hasDuplicateType) throw new JsonError(`${UNDETERMINED}${problem}`);
  throw new UnreadableObjectError(problem, {
    apiVersion: textAt(value, 'apiVersion'),
    kind: textAt(value, 'kind'),
  });
}

/** Decodes the CBOR of an object to apply. Throws JsonError. */
export function decodeCborPatch(body: Uint8Array): JsonObject | null {
  const reader = new CborReader(body);
  const value = readCbor(reader, '');
  if (reader.problem !== undefined) throw new JsonError(reader.problem);
  if (value === null || isObject(value)) return value;
  throw new JsonError(cannotUnmarshal(body, value, 'map[string]interface {}', ''));
}

const UNDETERMINED = 'unable to determine group/version/kind: ';
const ARRAY_TO_STRUCT = ' (cannot decode CBOR array to struct without toarray option)';

function readCbor(reader: CborReader, prefix: string): JsonValue {
  try {
    return reader.read();
  } catch (error) {
    if (error instanceof CborError) throw new JsonError(`${prefix}${error.message}`);
    throw error;
  }
}

const cannotUnmarshal = (body: Uint8Array, value: JsonValue, type: string, ofArrays: string): string =>
  `cbor: cannot unmarshal ${cborTypeOf(body)} into Go value of type ${type}${Array.isArray(value) ? ofArrays : ''}`;

/** Decodes a Protobuf body. `fallback` is the type of an object that does not name its own. Protobuf has no duplicate keys and no texts of numbers. */
export function decodeProtobufBody(body: Uint8Array, codec: ProtobufCodec, fallback?: TypeMeta): DetailedJson {
  try {
    return { value: codec.decode(body, fallback), duplicates: [] };
  } catch (error) {
    if (error instanceof ContentError) throw new UnreadableObjectError(error.message, error.type);
    if (error instanceof ProtobufError) throw new JsonError(error.message);
    throw error;
  }
}
