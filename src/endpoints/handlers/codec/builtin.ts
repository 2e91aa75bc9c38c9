import { type DetailedJson, JsonError, typeMetaOf } from '../../../apimachinery/json/decode.js';
import { isObject } from '../../../apimachinery/json/json.js';
import type { ApiError } from '../../../apimachinery/meta/errors.js';
import {
  compareUtf8,
  formatGroupVersion,
  kindNotRegistered,
  type KubeObject,
  parseGroupVersion,
  quote,
} from '../../../apimachinery/meta/meta.js';
import { UnreadableObjectError } from '../../../apimachinery/protobuf/body.js';
import type { TypeMeta } from '../../../apimachinery/protobuf/protobuf.js';
import { schemaOfSibling } from '../../../apimachinery/scheme/registered-kinds.js';
import type { DecodedObject } from '../../../registry/rest/served.js';
import { builtinConventions } from '../../responsewriters/conventions.js';
import type { Codec, Decodable, IdentifiedTree, PatchedCodec, PatchedTree, ReceivedBody } from './codec.js';
import { internalMismatch, isKnownKind, kindMismatch } from './kinds.js';
import { type Found, givenGroupVersion, newNotHandled, parseBody, refusedBody, sourceText } from './parse.js';
import { patchedObject, patchedTypeMeta } from './patched-type.js';

/** Builds a codec that takes a missing kind or apiVersion of a body from the type of the path. */
function codec(patched: PatchedCodec): Codec {
  return {
    findsUnknownFields: () => true,
    decode,
    newStrictDecodingError(target, object, strictErrors) {
      const { version } = parseGroupVersion(object.apiVersion ?? '') ?? { version: '' };
      return newNotHandled(target, object.kind ?? '', version, `strict decoding error: ${strictErrors.join(', ')}`);
    },
    responses: builtinConventions,
    patched,
  };
}

function decode(target: Decodable, body: ReceivedBody): DecodedObject {
  const found: Found = { kind: '', version: '' };
  try {
    const fallback = { apiVersion: target.groupVersion, kind: target.gvk.kind };
    const parsed = parseBody(body, fallback, { merges: true });
    // null decodes as an object without fields.
    const json = parsed.value === null ? { ...parsed, value: {} } : parsed;
    return decodeKind(target, json, typeOf(target, json, body, found), body.strict);
  } catch (error) {
    if (error instanceof UnreadableObjectError) throw unreadable(target, error);
    throw refusedBody(target, error, found, body);
  }
}

/** Returns the type that a body names; its kind and apiVersion may be empty. */
function typeOf(target: Decodable, json: DetailedJson, body: ReceivedBody, found: Found): TypeMeta {
  const given = typeMetaOf(json);
  const gv = givenGroupVersion(given.apiVersion);
  // `/v1` means v1, and `/` means no apiVersion.
  const meta = gv.group !== '' ? given : { ...given, apiVersion: gv.version };
  found.kind = meta.kind === '' ? target.gvk.kind : meta.kind;
  found.version = meta.apiVersion === '' ? target.gvk.version : gv.version;
  if (gv.group !== '' && gv.version === '')
    throw new JsonError(`Object 'apiVersion' is missing in '${sourceText(json.value, body)}'`);
  if (!isObject(json.value)) throw new JsonError('not an object');
  return meta;
}

function decodeKind(target: Decodable, json: DetailedJson, meta: TypeMeta, strict: boolean): DecodedObject {
  const expected = target.gvk;
  const apiVersion = meta.apiVersion === '' ? target.groupVersion : meta.apiVersion;
  const kind = meta.kind === '' ? expected.kind : meta.kind;
  if (kind !== expected.kind || apiVersion !== target.groupVersion) {
    const sibling = schemaOfSibling(expected, apiVersion, kind);
    if (sibling === undefined) {
      const { version } = parseGroupVersion(apiVersion) ?? { version: apiVersion };
      throw newNotHandled(target, kind, version, kindMismatch(target, apiVersion, kind, json));
    }
    // Decode it as its own type; the wrong version is reported afterward.
    const decoded = sibling.decode(json, strict);
    decoded.object.apiVersion = apiVersion;
    return decoded;
  }
  const object = json.value as KubeObject;
  object.apiVersion = formatGroupVersion(expected);
  object.kind = expected.kind;
  return target.decode(json, strict);
}

/** Returns the 400 for an unreadable object. An unregistered type is reported instead, because it is found before the bytes are read. */
function unreadable(target: Decodable, { message, type }: UnreadableObjectError): ApiError {
  const apiVersion = type.apiVersion === '' ? target.groupVersion : type.apiVersion;
  const gv = parseGroupVersion(apiVersion) ?? { group: '', version: apiVersion };
  const kind = type.kind === '' ? target.gvk.kind : type.kind;
  const why = isKnownKind(target.gvk.group, gv, kind) ? message : kindNotRegistered(apiVersion, kind);
  return newNotHandled(target, kind, gv.version, why);
}

/**
 * Builds the codec of patched objects. `assumesVersion`: an object that a patch leaves without apiVersion is taken as one of the
 * target's version, not of none.
 */
const patchedCodec = ({ assumesVersion }: { readonly assumesVersion: boolean }): PatchedCodec => ({
  merges: true,
  sorted: false,
  identify(target, patched) {
    const { value, merged, refuse } = patched;
    // The type is looked up first, even in a value that is not an object.
    if (!isObject(value) && !merged && value !== null) patchedTypeMeta(value, refuse);
    const tree = patchedObject(value, refuse);
    if (merged) return { tree, unknown: [], versionless: false };
    checkPatchedKind(target, patched, assumesVersion);
    const versionless = (tree['apiVersion'] ?? '') === '';
    if (!versionless || assumesVersion) return { tree, unknown: [], versionless };
    return withoutVersion(Object.keys(tree));
  },
  stamp(target, tree) {
    Object.assign(tree, { kind: target.gvk.kind, apiVersion: target.groupVersion });
  },
  check: () => undefined,
});

/** Returns an object without fields: without a version, all keys but apiVersion and kind are unknown. */
const withoutVersion = (keys: readonly string[]): IdentifiedTree => ({
  tree: {},
  unknown: keys
    .filter((key) => key !== 'apiVersion' && key !== 'kind')
    .sort(compareUtf8)
    .map((key) => `unknown field ${quote(key)}`),
  versionless: true,
});

function checkPatchedKind(target: Decodable, { value, refuse }: PatchedTree, assumesVersion: boolean): void {
  const { gvk } = target;
  const meta = patchedTypeMeta(value, refuse);
  const kind = meta.kind === '' ? gvk.kind : meta.kind;
  if (meta.apiVersion === '' && !assumesVersion) {
    if (kind === gvk.kind) return;
    throw refuse(internalMismatch(target, kind, { value, duplicates: [] }));
  }
  const groupVersion = meta.apiVersion === '' ? target.groupVersion : meta.apiVersion;
  if (kind === gvk.kind && groupVersion === target.groupVersion) return;
  // Another version of the same kind is converted.
  const sibling = parseGroupVersion(groupVersion)?.group === gvk.group;
  if (!sibling || schemaOfSibling(gvk, groupVersion, kind) === undefined)
    throw refuse(kindMismatch(target, groupVersion, kind, { value, duplicates: [] }));
}

/** The codec of built-in types. */
export const builtinCodec = codec(patchedCodec({ assumesVersion: false }));

/** The codec of the Scales of custom resources. */
export const scaleCodec = codec(patchedCodec({ assumesVersion: true }));
