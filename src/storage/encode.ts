import { FACTS, type JsonObject, objectAt, stringifyJson } from '../apimachinery/json/json.js';
import type { EncodedObject, StoredObject } from './interfaces.js';
import { INCOMPLETE, UNSEEN_MEMBERS } from './record.js';

/**
 * Serializes an object for storage without its revision (see EncodedObject). The object is not changed. A resourceVersion in it is ignored,
 * and so is a creationTimestamp of null.
 */
export function encodeObject(object: JsonObject): EncodedObject {
  const { apiVersion, kind, metadata: _metadata, ...rest } = object;
  const { resourceVersion: _, ...meta } = objectAt(object, 'metadata') ?? {};
  if (meta['creationTimestamp'] === null) delete meta['creationTimestamp'];
  const head = `{"apiVersion":${JSON.stringify(apiVersion ?? '')},"kind":${JSON.stringify(kind ?? '')},"metadata":{"resourceVersion":"`;
  const metaText = stringifyJson(meta);
  const restText = stringifyJson(rest);
  const tail = `"${metaText === '{}' ? '' : ','}${metaText.slice(1)}${restText === '{}' ? '' : ','}${restText.slice(1)}`;
  const encoded = { ...object, metadata: meta };
  const facts = object[FACTS];
  if (facts === undefined) return { head, tail, flags: 0, object: encoded };
  const flags = (facts.incomplete === true ? INCOMPLETE : 0) | (facts.unseenMembers === 'stored' ? UNSEEN_MEMBERS : 0);
  // Objects read from the store carry no facts, so this decoded form must not either.
  delete encoded[FACTS];
  return { head, tail, flags, object: encoded };
}

/** Returns the decoded form that a committed object keeps from the written value, so that nothing is parsed again. */
export function decodedForm(value: EncodedObject | undefined): Pick<StoredObject, 'object' | 'attributes'> {
  if (value === undefined) return {};
  return value.attributes === undefined ? { object: value.object } : { attributes: value.attributes };
}
