import { ApiError, newBadRequest } from '../../../apimachinery/meta/errors.js';
import {
  type DetailedJson,
  decodeDetailed,
  interpretTypeMeta,
  JsonError,
  typeMetaOf,
} from '../../../apimachinery/json/decode.js';
import {
  formatGroupVersion,
  goJson,
  type GroupVersionKind,
  kindNotRegistered,
  parseGroupVersion,
  quote,
} from '../../../apimachinery/meta/meta.js';
import { isObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { NumberRangeError } from '../../../apimachinery/json/syntax.js';
import { decodeYaml } from '../../../apimachinery/yaml/yaml.js';
import { builtinSchema } from '../../../apimachinery/scheme/builtin-schema.js';
import {
  isRegistered,
  isRegisteredInternally,
  schemaOfSibling,
} from '../../../apimachinery/scheme/registered-kinds.js';
import { DecodeError, type DecodedObject, type ServedVersion } from '../../../registry/rest/served.js';
import { type Encoding, negotiateInput } from '../../negotiation/media.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { ProtobufCodec, TypeMeta } from '../../../apimachinery/protobuf/protobuf.js';
import type { RequestContext } from '../../../request/context.js';
import type { HttpRequest } from '../../http.js';
import type { HandlerEnvironment, RequestScope } from '../../router/scope.js';
import { warnOfStrictErrors } from './strict-errors.js';
import type { FieldValidation } from './write-options.js';
import { decodeCborBody, decodeProtobufBody, UnreadableObjectError } from '../../../apimachinery/protobuf/body.js';

const SUMMARY_BYTES = 30;
export const NO_API_VERSION = "Object 'apiVersion' is missing in 'object has no apiVersion field'";

/** The body as an object of the served version; unknown and duplicate fields are refused, warned of or dropped. */
export function decodeBody(scope: RequestScope, body: Buffer, validation: FieldValidation): KubeObject {
  const { served, context } = scope;
  return decodeAs(served, scope.environment, context, scope.request, body, validation);
}

/** What decoding must know of a type: a version of a stored type, or a type that is only created. */
export type Decodable = Pick<ServedVersion, 'gvk' | 'groupVersion' | 'decode'> & {
  readonly type: Pick<ServedVersion['type'], 'custom' | 'noProtobuf'>;
};

export function decodeAs(
  target: Decodable,
  environment: HandlerEnvironment,
  context: RequestContext,
  request: HttpRequest,
  body: Buffer,
  validation: FieldValidation,
): KubeObject {
  const format = inputFormat(target, environment, request);
  // kube-apiserver does not look for unknown fields in a custom resource's CBOR.
  const strict = validation !== 'Ignore' && !(target.type.custom && format === 'cbor');
  const decoded = decodeObject(target, environment, body, format, strict);
  const { strictErrors } = decoded;
  if (strictErrors.length > 0) {
    if (validation === 'Strict') {
      if (target.type.custom && (decoded.object.apiVersion ?? '') === '') throw newBadRequest(NO_API_VERSION);
      throw cannotBeHandled(target, decoded.object, `strict decoding error: ${strictErrors.join(', ')}`);
    }
    warnOfStrictErrors(context, strictErrors);
  }
  const given = decoded.object.apiVersion ?? '';
  if (given !== target.groupVersion) {
    const gv = parseGroupVersion(given);
    const shown = gv === undefined ? given : formatGroupVersion(gv);
    throw newBadRequest(
      `the API version in the data (${shown}) does not match the expected API version (${target.groupVersion})`,
    );
  }
  context.audit?.requestObject(() => decoded.object);
  return decoded.object;
}

/** The form of the body; throws the 415. */
export function inputFormat(
  { type }: { readonly type: Pick<ServedVersion['type'], 'custom' | 'noProtobuf'> },
  environment: HandlerEnvironment,
  request: HttpRequest,
): Encoding {
  return negotiateInput(request.headers['content-type'], {
    noProtobuf: type.custom || type.noProtobuf === true,
    cbor: environment.features.enabled('CBORServingAndStorage'),
  });
}

/** Kind and version of a text with a number that no float64 holds, which nobody who looks for these reads. */
function kindAlone(body: Buffer): { readonly kind: string; readonly version: string } {
  const { kind, apiVersion } = interpretTypeMeta(JSON.parse(body.toString('utf8')) as JsonValue);
  return { kind, version: parseGroupVersion(apiVersion)?.version ?? '' };
}

function decodeObject(
  served: Decodable,
  environment: HandlerEnvironment,
  body: Buffer,
  format: Encoding,
  strict: boolean,
): DecodedObject {
  let json: DetailedJson;
  let kind = '';
  let version = '';
  try {
    const fallback = { apiVersion: served.groupVersion, kind: served.gvk.kind };
    json = parse(body, format, strict, environment.protobuf, fallback, !served.type.custom);
    // To a built-in type null is an object without fields.
    if (json.value === null && !served.type.custom) json = { ...json, value: {} };
    const given = typeMetaOf(json);
    const gv = parseGroupVersion(given.apiVersion);
    if (gv === undefined) throw new JsonError(`unexpected GroupVersion string: ${given.apiVersion}`);
    // `/v1` is v1, and `/` is nothing.
    const meta = served.type.custom || gv.group !== '' ? given : { ...given, apiVersion: gv.version };
    // What has no schema is asked for its kind by the very name.
    if (served.type.custom && (meta.kind === '' || !isObject(json.value) || json.value['kind'] === undefined))
      throw missingKind(
        served,
        sourceText(json.value, body, format, strict),
        strict || format === 'cbor',
        meta.apiVersion,
      );
    kind = meta.kind === '' ? served.gvk.kind : meta.kind;
    version = meta.apiVersion === '' && !served.type.custom ? served.gvk.version : gv.version;
    if (!served.type.custom && gv.group !== '' && gv.version === '')
      throw new JsonError(`Object 'apiVersion' is missing in '${sourceText(json.value, body, format, strict)}'`);
    if (!isObject(json.value)) throw new JsonError('not an object');
    if (served.type.custom && json.value['apiVersion'] === null) {
      version = '';
      throw new JsonError('.apiVersion accessor error: <nil> is of the type <nil>, expected string');
    }
    return decodeKind(served, json, meta, strict);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (!(error instanceof JsonError || error instanceof DecodeError)) throw error;
    if (error instanceof UnreadableObjectError) throw unreadable(served, error);
    const number = served.type.custom && error.cause instanceof NumberRangeError ? error.cause : undefined;
    if (number !== undefined) ({ kind, version } = kindAlone(body));
    if (kind !== '') {
      throw newBadRequest(
        `${kind} in version ${quote(version)} cannot be handled as a ${served.gvk.kind}: ${(number ?? error).message}`,
      );
    }
    throw newBadRequest(
      `the object provided is unrecognized (must be of type ${served.gvk.kind}): ${error.message} (${summarize(body)})`,
    );
  }
}

/** That a type is not registered is found before its bytes are read. */
function unreadable(served: Decodable, { message, type }: UnreadableObjectError): ApiError {
  const apiVersion = type.apiVersion === '' ? served.groupVersion : type.apiVersion;
  const gv = parseGroupVersion(apiVersion) ?? { group: '', version: apiVersion };
  const kind = type.kind === '' ? served.gvk.kind : type.kind;
  const known = served.type.custom || isKnownKind(served.gvk.group, gv, kind);
  const why = known ? message : kindNotRegistered(apiVersion, kind);
  return newBadRequest(`${kind} in version ${quote(gv.version)} cannot be handled as a ${served.gvk.kind}: ${why}`);
}

const isKnownKind = (
  ofGroup: string,
  gv: { readonly group: string; readonly version: string },
  kind: string,
): boolean => isRegistered(ofGroup, { ...gv, kind }) || isMetaKind(gv, kind);

function decodeKind(
  served: Decodable,
  json: DetailedJson,
  meta: { apiVersion: string; kind: string },
  strict: boolean,
): DecodedObject {
  const expected = served.gvk;
  const gv = meta.apiVersion === '' ? served.groupVersion : meta.apiVersion;
  const kind = meta.kind === '' ? expected.kind : meta.kind;
  if (!served.type.custom && (kind !== expected.kind || gv !== served.groupVersion)) {
    const sibling = schemaOfSibling(expected, gv, kind);
    if (sibling === undefined) throw mismatch(served, gv, kind, json);
    // Read as what it is; that it is of another version is told at the end.
    const decoded = sibling.decode(json, strict);
    decoded.object.apiVersion = gv;
    return decoded;
  }
  const object = json.value as KubeObject;
  if (!served.type.custom) {
    object.apiVersion = formatGroupVersion(expected);
    object.kind = expected.kind;
  }
  return served.decode(json, strict);
}

function mismatch(served: Decodable, groupVersion: string, kind: string, json: DetailedJson): ApiError {
  const gv = parseGroupVersion(groupVersion) ?? { version: groupVersion };
  const why = kindMismatch(served, groupVersion, kind, json);
  return newBadRequest(`${kind} in version ${quote(gv.version)} cannot be handled as a ${served.gvk.kind}: ${why}`);
}

/** Why an object of another type than the path's is not taken: a known one cannot be converted, an unknown one is not registered. */
export function kindMismatch(
  served: Pick<Decodable, 'gvk'>,
  groupVersion: string,
  kind: string,
  json: DetailedJson,
): string {
  const gv = parseGroupVersion(groupVersion) ?? { group: '', version: groupVersion };
  const { group } = served.gvk;
  const registered = isRegistered(group, { ...gv, kind });
  if (!registered && !isMetaKind(gv, kind)) return kindNotRegistered(groupVersion, kind);
  return (registered ? misfit({ ...gv, kind }, json) : undefined) ?? unknownConversion(`${gv.version}.${kind}`, served);
}

/** The group of the internal type; both groups of events have the one of core. */
const internalGroup = ({ group }: GroupVersionKind): string => (group === 'events.k8s.io' ? '' : group);

const internalPackage = (gvk: GroupVersionKind): string => (internalGroup(gvk) || 'core').split('.')[0] ?? '';

const unknownConversion = (from: string, { gvk }: Pick<Decodable, 'gvk'>): string =>
  `converting (${from}) to (${internalPackage(gvk)}.${gvk.kind}): unknown conversion`;

/** The same of an object that has no version: it is read as the group's internal one. */
export function internalMismatch(served: Pick<Decodable, 'gvk'>, kind: string, json: DetailedJson): string {
  const group = internalGroup(served.gvk);
  if (kind === 'WatchEvent') return unknownConversion('v1.InternalEvent', served);
  if (UNVERSIONED.has(kind))
    return misfit({ group: '', version: 'v1', kind }, json) ?? unknownConversion(`v1.${kind}`, served);
  if (!isRegisteredInternally({ ...served.gvk, group }, kind))
    return `no kind ${quote(kind)} is registered for the internal version of group ${quote(group)} in scheme "pkg/runtime/scheme.go:111"`;
  return unknownConversion(`${internalPackage(served.gvk)}.${kind}`, served);
}

/** What does not fit the object's own type is found before it is converted. */
function misfit(gvk: GroupVersionKind, json: DetailedJson): string | undefined {
  try {
    builtinSchema(gvk)?.decode(json, false);
    return undefined;
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

/** Registered in every version of every group that there is. */
export const OPTIONS: ReadonlySet<string> = new Set([
  'ListOptions',
  'GetOptions',
  'DeleteOptions',
  'CreateOptions',
  'UpdateOptions',
  'PatchOptions',
  'WatchEvent',
]);
/** Registered in v1 alone, for all groups. */
export const UNVERSIONED = new Set(['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList']);

const isMetaKind = (gv: { readonly group?: string; readonly version: string }, kind: string): boolean =>
  (gv.group ?? '') === '' && gv.version === 'v1' && (OPTIONS.has(kind) || UNVERSIONED.has(kind));

/** A decoder that does not look for unknown fields takes the path's kind for granted before it misses the object's. */
function missingKind(served: Decodable, text: string, strict: boolean, apiVersion: string): Error {
  const why = `Object 'Kind' is missing in '${text}'`;
  if (strict) return new JsonError(why);
  const { kind } = served.gvk;
  const version = apiVersion === '' ? served.gvk.version : (parseGroupVersion(apiVersion)?.version ?? '');
  return newBadRequest(`${kind} in version ${quote(version)} cannot be handled as a ${kind}: ${why}`);
}

/** The text that the kind was looked for in; YAML is made JSON for a decoder that does not look for unknown fields. */
const sourceText = (value: JsonValue, body: Buffer, format: Encoding, strict: boolean): string =>
  format === 'json' || (format === 'yaml' && strict) ? body.toString('utf8') : goJson(value);

function cannotBeHandled(served: Decodable, object: KubeObject, why: string): ApiError {
  const gv = parseGroupVersion(object.apiVersion ?? '') ?? { version: '' };
  return newBadRequest(
    `${object.kind ?? ''} in version ${quote(gv.version)} cannot be handled as a ${served.type.custom ? (object.kind ?? '') : served.gvk.kind}: ${why}`,
  );
}

/** The tree of a body in any format. */
export function parse(
  body: Buffer,
  format: Encoding,
  strict: boolean,
  protobuf: ProtobufCodec,
  fallback: TypeMeta,
  /** A built-in type: a second value of a field adds to the first. */
  merges = false,
): DetailedJson {
  switch (format) {
    case 'json':
      return decodeJson(body, strict, merges);
    case 'yaml':
      return decodeYaml(body, strict);
    case 'cbor':
      return decodeCborBody(body);
    case 'protobuf':
      return decodeProtobufBody(body, protobuf, fallback);
  }
}

/** Kubernetes looks for the kind first, and that is where a malformed text is found. */
function decodeJson(body: Buffer, strict: boolean, merges: boolean): DetailedJson {
  try {
    return decodeDetailed(body, strict, merges);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new JsonError(`couldn't get version/kind; json parse error: ${error.message}`, { cause: error });
  }
}

/** The first bytes of a body, for error messages: text where it looks like an object, else hexadecimal. */
function summarize(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const more = body.length > SUMMARY_BYTES ? ' ...' : '';
  const start = body.subarray(0, SUMMARY_BYTES);
  return start[0] === 0x7b ? start.toString('utf8') + more : start.toString('hex') + more;
}
