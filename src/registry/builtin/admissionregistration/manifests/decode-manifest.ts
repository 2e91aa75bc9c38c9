import { decodeDetailed, type DetailedJson, JsonError, typeMetaOf } from '../../../../apimachinery/json/decode.js';
import { type JsonObject, type JsonValue, objectsOf, stringifyJson } from '../../../../apimachinery/json/json.js';
import { kindNotRegistered, type KubeObject, parseGroupVersion } from '../../../../apimachinery/meta/meta.js';
import { builtinSchema, type BuiltinSchema, requireSchema } from '../../../../apimachinery/scheme/builtin-schema.js';
import { isRegistered } from '../../../../apimachinery/scheme/registered-kinds.js';
import { decodeYaml } from '../../../../apimachinery/yaml/yaml.js';

const GROUP = 'admissionregistration.k8s.io';
const VERSION = 'v1';
/** Kinds that Kubernetes' decoder knows in any version. */
const UNVERSIONED = new Set(['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList']);
/** Kinds that every group version has. */
const OPTIONS = new Set(
  'WatchEvent ListOptions GetOptions DeleteOptions CreateOptions UpdateOptions PatchOptions'.split(' '),
);

/** An object of a file that cannot be used. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

/** Receives an object of admissionregistration.k8s.io/v1 as it was given. */
type Take = (kind: string, object: KubeObject) => void;

/**
 * Decodes one document, YAML or JSON, which may be a list. `take` gets each object whose kind is in `kinds`; any other is an error. Throws
 * JsonError and ManifestError.
 */
export function decodeManifest(text: string, kinds: { has(kind: string): boolean }, take: Take): void {
  decode(parse(text), text, kinds, take);
}

function parse(text: string): DetailedJson {
  if (!text.startsWith('{')) return decodeYaml(text, true);
  try {
    return decodeDetailed(text, { strict: true, merges: true });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    // The kind is looked for first, which reports malformed text.
    throw new JsonError(`couldn't get version/kind; json parse error: ${error.message}`, { cause: error });
  }
}

function decode(json: DetailedJson, text: string, kinds: { has(kind: string): boolean }, take: Take): void {
  const { kind, apiVersion } = typeMetaOf(json);
  const gv = parseGroupVersion(apiVersion);
  if (gv === undefined) throw new JsonError(`unexpected GroupVersion string: ${apiVersion}`);
  if (kind === '') throw new JsonError(`Object 'Kind' is missing in '${text}'`);
  if (gv.version === '') throw new JsonError(`Object 'apiVersion' is missing in '${text}'`);
  if (UNVERSIONED.has(kind) || (gv.group === GROUP && OPTIONS.has(kind)))
    throw new ManifestError(`unsupported resource type *v1.${kind}`);
  if (kind === 'List') {
    const items = strictly(requireSchema('', 'v1', 'List'), json)['items'];
    if (Array.isArray(items)) items.forEach((item) => decodeItem(item, kinds, take));
    return;
  }
  const known = gv.group === GROUP && isRegistered(GROUP, { ...gv, kind });
  if (!known) throw new JsonError(kindNotRegistered(apiVersion, kind));
  const schema = builtinSchema({ ...gv, kind });
  const object = schema === undefined ? undefined : strictly(schema, json);
  const isList = kind.endsWith('List');
  const single = isList ? kind.slice(0, -'List'.length) : kind;
  if (object === undefined || gv.version !== VERSION || !kinds.has(single))
    throw new ManifestError(`unsupported resource type *${gv.version}.${kind}`);
  for (const one of isList ? objectsOf(object['items']) : [object]) take(single, stamped(single, one));
}

function decodeItem(item: JsonValue, kinds: { has(kind: string): boolean }, take: Take): void {
  let inner: unknown;
  try {
    decode({ value: item, duplicates: [] }, item === null ? '' : stringifyJson(item), kinds, take);
  } catch (error) {
    inner = error;
  }
  if (inner instanceof JsonError) throw new JsonError(`failed to decode list item: ${inner.message}`);
  if (inner !== undefined) throw inner as Error;
}

function strictly(schema: BuiltinSchema, json: DetailedJson): JsonObject {
  const { object, strictErrors } = schema.decode(json, true);
  if (strictErrors.length > 0) throw new JsonError(`strict decoding error: ${strictErrors.join(', ')}`);
  return object;
}

/** The items of a list need not state their kind. */
const stamped = (kind: string, { metadata = {}, ...rest }: JsonObject): KubeObject => ({
  ...rest,
  apiVersion: `${GROUP}/${VERSION}`,
  kind,
  metadata: metadata as KubeObject['metadata'],
});
