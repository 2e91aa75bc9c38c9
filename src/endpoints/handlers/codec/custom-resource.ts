import { type DetailedJson, interpretTypeMeta, JsonError, typeMetaOf } from '../../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { NumberRangeError } from '../../../apimachinery/json/syntax.js';
import { newBadRequest, newInternalError } from '../../../apimachinery/meta/errors.js';
import { parseGroupVersion } from '../../../apimachinery/meta/meta.js';
import { customResourceConventions } from '../../responsewriters/conventions.js';
import type { Codec, Decodable, PatchedCodec, ReceivedBody } from './codec.js';
import { type Found, givenGroupVersion, newNotHandled, parseBody, refusedBody, sourceText } from './parse.js';
import { patchedObject, patchedTypeMeta } from './patched-type.js';
import { UnreadableObjectError } from '../../../apimachinery/protobuf/body.js';

const NO_API_VERSION = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
const NULL_API_VERSION = '.apiVersion accessor error: <nil> is of the type <nil>, expected string';

const patched: PatchedCodec = {
  merges: false,
  sorted: true,
  identify(_target, { value, shown, refuse }) {
    const tree = patchedObject(value, refuse);
    const { kind, apiVersion } = patchedTypeMeta(tree, refuse);
    if (parseGroupVersion(apiVersion) === undefined) throw refuse(`unexpected GroupVersion string: ${apiVersion}`);
    if (kind === '') throw refuse(`Object 'Kind' is missing in '${shown()}'`);
    if (tree['apiVersion'] === null) throw refuse(NULL_API_VERSION);
    return { tree, unknown: [], versionless: false };
  },
  stamp: () => undefined,
  check(object) {
    if ((object.apiVersion ?? '') === '') throw newInternalError(NO_API_VERSION);
  },
};

/** The codec of custom resources. Nothing is assumed about the type of a body. */
export const customResourceCodec: Codec = {
  // kube-apiserver does not look for unknown fields in a custom resource's CBOR.
  findsUnknownFields: (format) => format !== 'cbor',
  decode(target, body) {
    const found: Found = { kind: '', version: '' };
    try {
      const fallback = { apiVersion: target.groupVersion, kind: target.gvk.kind };
      const json = parseBody(body, fallback, patched);
      checkType(target, json, body, found);
      return target.decode(json, body.strict);
    } catch (error) {
      if (error instanceof UnreadableObjectError) {
        const { kind, apiVersion } = error.type;
        const { version = apiVersion } = parseGroupVersion(apiVersion === '' ? target.groupVersion : apiVersion) ?? {};
        throw newNotHandled(target, kind === '' ? target.gvk.kind : kind, version, error.message);
      }
      if (error instanceof JsonError && error.cause instanceof NumberRangeError) {
        const known = kindAlone(body.bytes);
        throw refusedBody(target, known.kind === '' ? error : error.cause, known, body);
      }
      throw refusedBody(target, error, found, body);
    }
  },
  newStrictDecodingError(target, object, strictErrors) {
    const { apiVersion = '', kind = '' } = object;
    if (apiVersion === '') return newBadRequest(NO_API_VERSION);
    const { version } = parseGroupVersion(apiVersion) ?? { version: '' };
    return newNotHandled(target, kind, version, `strict decoding error: ${strictErrors.join(', ')}`, kind);
  },
  responses: customResourceConventions,
  patched,
};

/** Checks the type of a body. The key `kind` must be spelled exactly so, because unstructured objects have no schema. */
function checkType(target: Decodable, json: DetailedJson, body: ReceivedBody, found: Found): void {
  const { value } = json;
  const { kind, apiVersion } = typeMetaOf(json);
  const { version } = givenGroupVersion(apiVersion);
  if (kind === '' || !isObject(value) || value['kind'] === undefined)
    throw missingKind(target, value, body, apiVersion);
  found.kind = kind;
  found.version = version;
  if (value['apiVersion'] !== null) return;
  found.version = '';
  throw new JsonError(NULL_API_VERSION);
}

/**
 * Returns the error for a missing kind. A decoder that does not look for unknown fields assumes the path's kind before it finds
 * that the object's is missing.
 */
function missingKind(target: Decodable, value: JsonValue, body: ReceivedBody, apiVersion: string): Error {
  const why = `Object 'Kind' is missing in '${sourceText(value, body)}'`;
  if (body.strict || body.format === 'cbor') return new JsonError(why);
  const { kind } = target.gvk;
  const version = apiVersion === '' ? target.gvk.version : (parseGroupVersion(apiVersion)?.version ?? '');
  return newNotHandled(target, kind, version, why);
}

/** Returns the kind and version of a text with a number outside float64, which decoding only these two does not reject. */
function kindAlone(body: Buffer): Found {
  const { kind, apiVersion } = interpretTypeMeta(JSON.parse(body.toString('utf8')) as JsonObject);
  return { kind, version: parseGroupVersion(apiVersion)?.version ?? '' };
}
