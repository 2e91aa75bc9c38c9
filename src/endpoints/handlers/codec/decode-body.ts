import { newBadRequest } from '../../../apimachinery/meta/errors.js';
import { formatGroupVersion, type KubeObject, parseGroupVersion } from '../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../request/context.js';
import type { HttpRequest } from '../../http.js';
import { type Encoding, negotiateInput } from '../../negotiation/media.js';
import type { HandlerEnvironment, RequestScope } from '../../router/scope.js';
import { warnOfStrictErrors } from '../request/strict-errors.js';
import type { FieldValidation } from '../request/write-options.js';
import type { Codec, Decodable } from './codec.js';

/** The parts of a request that decoding its body needs. */
export interface Received {
  readonly environment: Pick<HandlerEnvironment, 'features' | 'protobuf'>;
  readonly context: RequestContext;
  readonly request: HttpRequest;
  readonly codec: Codec;
}

/** Decodes the body as an object of the served version. Unknown and duplicate fields are rejected, warned about or dropped. */
export function decodeBody(scope: RequestScope, body: Buffer, validation: FieldValidation): KubeObject {
  return decodeAs(scope.served, scope, body, validation);
}

/** Like decodeBody, for an object of another kind than the resource's. */
export function decodeAs(
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
