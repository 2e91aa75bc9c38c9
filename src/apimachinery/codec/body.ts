import type { DetailedJson } from '../decode-json.js';
import { JsonError } from '../json-syntax.js';
import { CborError, decodeCbor } from './cbor.js';
import { ContentError, type ProtobufCodec, type TypeMeta } from './protobuf.js';
import { ProtobufError } from './wire.js';

/** A body whose type could be told, and nothing more. */
export class UnreadableObjectError extends JsonError {
  constructor(
    message: string,
    readonly type: TypeMeta,
  ) {
    super(message);
  }
}

/** A CBOR body as decoders of bodies want it. Throws JsonError, as they do for other formats. */
export function decodeCborBody(body: Uint8Array): DetailedJson {
  return decoded(() => decodeCbor(body));
}

/** A Protobuf body; `fallback` is the type of an object that does not name its own. */
export function decodeProtobufBody(body: Uint8Array, codec: ProtobufCodec, fallback?: TypeMeta): DetailedJson {
  return decoded(() => codec.decode(body, fallback));
}

/** Neither format lets a key stand twice, and neither keeps the texts of numbers. */
function decoded(decode: () => DetailedJson['value']): DetailedJson {
  try {
    return { value: decode(), duplicates: [] };
  } catch (error) {
    if (error instanceof ContentError) throw new UnreadableObjectError(error.message, error.type);
    if (error instanceof CborError || error instanceof ProtobufError) throw new JsonError(error.message);
    throw error;
  }
}
