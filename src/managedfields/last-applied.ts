import { deepCopy, isObject, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import { goJson, type KubeObject } from '../apimachinery/meta/meta.js';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
/** The maximum size of all annotations of an object, keys and values, in bytes. */
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

/** The manager whose applies maintain the annotation of client-side apply and take over its fields. */
export const KUBECTL = 'kubectl';

/** Returns the configuration of the last client-side apply, or undefined if there is none or it cannot be parsed. */
export function lastApplied(object: JsonObject): JsonObject | undefined {
  const text = stringAt(objectAt(objectAt(object, 'metadata'), 'annotations'), ANNOTATION);
  if (text === undefined || text === '') return undefined;
  try {
    const value = JSON.parse(text) as JsonObject;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Replaces the configuration of the last client-side apply, if any, with the one being applied. Deletes it if the
 * annotations would be too large. Modifies the object in place.
 */
export function updateLastApplied(object: KubeObject, configuration: JsonObject): void {
  const annotations = objectAt(object.metadata, 'annotations');
  const before = stringAt(annotations, ANNOTATION);
  if (annotations === undefined || before === undefined || before === '') return;
  const text = `${goJson(withoutAnnotation(configuration))}\n`;
  let bytes = Buffer.byteLength(ANNOTATION) + Buffer.byteLength(text);
  for (const key in annotations) {
    const value = annotations[key];
    if (key !== ANNOTATION && typeof value === 'string') bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATIONS_BYTES) delete annotations[ANNOTATION];
  else annotations[ANNOTATION] = text;
}

function withoutAnnotation(configuration: JsonObject): JsonObject {
  const copy = deepCopy(configuration);
  const annotations = objectAt(objectAt(copy, 'metadata'), 'annotations');
  if (annotations !== undefined) delete annotations[ANNOTATION];
  return copy;
}
