import { newBadRequest } from '../../../apimachinery/meta/errors.js';
import { formatGroupVersion, type KubeObject, parseGroupVersion } from '../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../request/context.js';
import type { HttpRequest } from '../../http.js';
import { type Encoding, negotiateInput } from '../../negotiation/media.js';
import type { HandlerEnvironment } from '../scope.js';
import type { Codec, Decodable, FieldValidation } from './codec.js';

/** The parts of a request that decoding its body needs. */
export interface Received {
  readonly environment: Pick<HandlerEnvironment, 'features' | 'protobuf'>;
  readonly context: RequestContext;
  readonly request: HttpRequest;
  readonly codec: Codec;
}

/** Decodes the body as an object of the target's kind. Unknown and duplicate fields are rejected, warned about or dropped. */
export function decodeBody(
  target: Decodable,
  { environment, context, request, codec }: Received,
  bytes: Buffer,
  validation: FieldValidation,
): KubeObject {
  const format = inputFormat(target, environment, request);
  const strict = validation !== 'Ignore' && codec.findsUnknownFields(format);
  const { object, strictErrors } = codec.decode(target, { bytes, format, strict, protobuf: environment.protobuf });
  if (strictErrors.length > 0) {
    if (validation === 'Strict') throw codec.newStrictDecodingError(target, object, strictErrors);
    warnOfStrictErrors(context, strictErrors);
  }
  const given = object.apiVersion ?? '';
  if (given !== target.groupVersion) {
    const gv = parseGroupVersion(given);
    const shown = gv === undefined ? given : formatGroupVersion(gv);
    throw newBadRequest(
      `the API version in the data (${shown}) does not match the expected API version (${target.groupVersion})`,
    );
  }
  context.audit?.requestObject(() => object);
  return object;
}

const YAML_ERRORS = /^(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n/;

/** Warns about unknown and duplicate fields. YAML reports all its duplicates in one text, one per line. */
export function warnOfStrictErrors(context: RequestContext, errors: readonly string[]): void {
  for (const text of errors) {
    const lines = text.replace(YAML_ERRORS, '');
    if (lines === text) context.warn(text);
    else for (const line of lines.split('\n')) context.warn(line.trim());
  }
}

/** Returns the format of the body. Throws a 415 if it is not supported. */
export function inputFormat(
  { type }: Pick<Decodable, 'type'>,
  environment: Pick<HandlerEnvironment, 'features'>,
  request: HttpRequest,
): Encoding {
  return negotiateInput(request.headers['content-type'], {
    noProtobuf: type.noProtobuf === true,
    cbor: environment.features.enabled('CBORServingAndStorage'),
  });
}
