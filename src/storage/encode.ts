import { type JsonObject, objectAt, stringifyJson } from '../apimachinery/json/json.js';
import { storesUnseen } from '../apimachinery/json/unseen.js';
import type { EncodedObject, StoredObject } from './interfaces.js';
import { INCOMPLETE, UNSEEN_MEMBERS } from './record.js';

const incomplete = new WeakSet<JsonObject>();

/** Has the object stored as one that is not shown as it stands: its type adds to it whenever it is read. */
export function markIncomplete(object: JsonObject): void {
  incomplete.add(object);
}

/**
 * Serializes an object for storage, with the place of its revision left open (see EncodedObject). The object is not
 * changed; a resourceVersion in it is ignored, and so is an empty creationTimestamp of null.
 */
export function encodeObject(object: JsonObject): EncodedObject {
  const { apiVersion, kind, metadata: _metadata, ...rest } = object;
  const { resourceVersion: _, ...meta } = objectAt(object, 'metadata') ?? {};
  if (meta['creationTimestamp'] === null) delete meta['creationTimestamp'];
  const head = `{"apiVersion":${JSON.stringify(apiVersion ?? '')},"kind":${JSON.stringify(kind ?? '')},"metadata":{"resourceVersion":"`;
  const metaText = stringifyJson(meta);
  const restText = stringifyJson(rest);
  const tail = `"${metaText === '{}' ? '' : ','}${metaText.slice(1)}${restText === '{}' ? '' : ','}${restText.slice(1)}`;
  const flags = (incomplete.has(object) ? INCOMPLETE : 0) | (storesUnseen(object) ? UNSEEN_MEMBERS : 0);
  return { head, tail, flags, object: { ...object, metadata: meta } };
}

/** What a committed object keeps of the value that was written, beside its bytes: nothing is parsed for it. */
export function decodedForm(value: EncodedObject | undefined): Pick<StoredObject, 'object' | 'attributes'> {
  if (value === undefined) return {};
  return value.attributes === undefined ? { object: value.object } : { attributes: value.attributes };
}
