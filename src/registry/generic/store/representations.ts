import { type JsonObject, stringifyJson } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { CachedObject, Representation } from '../../../storage/cacher/interfaces.js';
import { asBuffer } from '../../../util/bytes.js';
import type { VersionView } from '../../rest/interfaces.js';

interface Form {
  /** True if objects are stored in another version or as another type. */
  readonly converted?: boolean;
  /** True if objects are stored as those of another type. */
  readonly shared?: boolean;
  /** True if list items are whole objects, as those of custom resources are. */
  readonly custom?: boolean;
}

/**
 * Returns the representations of a kind whose schema is fixed. Objects that are not converted are shown unchanged; list items of built-in
 * types lack their first two fields.
 */
export function representations(
  id: string,
  { converted = false, shared = false, custom = false }: Form,
  toObject: (object: CachedObject) => KubeObject,
): Pick<VersionView, 'json' | 'listItem' | 'itemTree'> {
  const convert = (object: CachedObject): Uint8Array => Buffer.from(stringifyJson(toObject(object)), 'utf8');
  const json: Representation = converted
    ? { id, separator: ',', render: convert }
    : { id, identityUpTo: Infinity, separator: ',', render: (object) => object.bytes };
  if (custom) return { json, listItem: json, itemTree: toObject };
  const listItem: Representation = {
    id: `${id}/item`,
    separator: ',',
    render: (object) => (shared ? encodeItem(toObject(object)) : withoutTypeMeta(object)),
  };
  return { json, listItem, itemTree: (object) => withoutType(toObject(object)) };
}

const METADATA = Buffer.from('"metadata":');

const withoutType = ({ apiVersion: _v, kind: _k, ...rest }: JsonObject): JsonObject => rest;

const encodeItem = (object: JsonObject): Uint8Array => Buffer.from(stringifyJson(withoutType(object)), 'utf8');

/** Strips apiVersion and kind, with which a stored object begins before metadata (see EncodedObject). */
function withoutTypeMeta(object: CachedObject): Uint8Array {
  const { bytes } = object;
  const buffer = asBuffer(bytes);
  const at = buffer.indexOf(METADATA);
  if (at < 0 || object.undecodable) return encodeItem(object.decode());
  const out = Buffer.allocUnsafe(buffer.length - at + 1);
  out[0] = 0x7b;
  buffer.copy(out, 1, at);
  return out;
}
