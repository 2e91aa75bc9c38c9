import { type DetailedJson, decodeDetailed, JsonError } from '../../../apimachinery/json/decode.js';
import type { JsonValue } from '../../../apimachinery/json/json.js';
import { ApiError, newBadRequest } from '../../../apimachinery/meta/errors.js';
import { goJson, parseGroupVersion, quote } from '../../../apimachinery/meta/meta.js';
import { decodeCborBody, decodeProtobufBody } from '../../../apimachinery/protobuf/body.js';
import type { TypeMeta } from '../../../apimachinery/protobuf/protobuf.js';
import { decodeYaml } from '../../../apimachinery/yaml/yaml.js';
import { DecodeError } from '../../../apimachinery/scheme/decode-error.js';
import type { Decodable, PatchedCodec, ReceivedBody } from './codec.js';

const SUMMARY_BYTES = 30;

/** Parses a body of any format. `merges`: a duplicate field is merged into the first value. */
export function parseBody(
  { bytes, format, strict, protobuf }: ReceivedBody,
  fallback: TypeMeta,
  { merges }: Pick<PatchedCodec, 'merges'>,
): DetailedJson {
  switch (format) {
    case 'json':
      return decodeJson(bytes, strict, merges);
    case 'yaml':
      return decodeYaml(bytes, strict);
    case 'cbor':
      return decodeCborBody(bytes);
    case 'protobuf':
      return decodeProtobufBody(bytes, protobuf, fallback);
  }
}

/** Decodes JSON. Kubernetes looks for the kind first, so that step reports malformed text. */
function decodeJson(body: Buffer, strict: boolean, merges: boolean): DetailedJson {
  try {
    return decodeDetailed(body, { strict, merges });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new JsonError(`couldn't get version/kind; json parse error: ${error.message}`, { cause: error });
  }
}

/** Returns the text in which the kind was looked for. A decoder that does not look for unknown fields converts YAML to JSON first. */
export const sourceText = (value: JsonValue, { bytes, format, strict }: ReceivedBody): string =>
  format === 'json' || (format === 'yaml' && strict) ? bytes.toString('utf8') : goJson(value);

/** Parses the group and version of a body's apiVersion. */
export function givenGroupVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const gv = parseGroupVersion(apiVersion);
  if (gv === undefined) throw new JsonError(`unexpected GroupVersion string: ${apiVersion}`);
  return gv;
}

/** The kind and version found in a body before it is decoded as that kind. An empty kind means that none was found. */
export interface Found {
  kind: string;
  version: string;
}

/** Returns the 400 for a body that cannot be decoded; other errors are returned unchanged. */
export function refusedBody(
  target: Decodable,
  error: unknown,
  { kind, version }: Found,
  { bytes }: ReceivedBody,
): unknown {
  if (error instanceof ApiError || !(error instanceof JsonError || error instanceof DecodeError)) return error;
  if (kind !== '') return newNotHandled(target, kind, version, error.message);
  return newBadRequest(
    `the object provided is unrecognized (must be of type ${target.gvk.kind}): ${error.message} (${summarize(bytes)})`,
  );
}

/** Returns the 400 for an object that cannot be handled as a type; `as` is the name of that type. */
export const newNotHandled = (
  { gvk }: Pick<Decodable, 'gvk'>,
  kind: string,
  version: string,
  why: string,
  as = gvk.kind,
): ApiError => newBadRequest(`${kind} in version ${quote(version)} cannot be handled as a ${as}: ${why}`);

/** Returns the first bytes of a body for error messages: as text if it looks like an object, else in hexadecimal. */
function summarize(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const more = body.length > SUMMARY_BYTES ? ' ...' : '';
  const start = body.subarray(0, SUMMARY_BYTES);
  return start[0] === 0x7b ? start.toString('utf8') + more : start.toString('hex') + more;
}
