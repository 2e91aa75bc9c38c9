import { takeFloats } from '../apimachinery/json/float.js';
import { FACTS, type JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from './interfaces.js';

/**
 * Replaces the contents of the request's object with the result of a mutation. Handlers hold the object itself, so it
 * stays the same one.
 */
export function replaceContents({ object, versions }: AdmissionAttributes, made: KubeObject): void {
  if (object === undefined || object === made) return;
  // Delete only the members that are gone: deleting and adding them again would make the object slow for later code.
  for (const key in object) if (!Object.hasOwn(made, key)) Reflect.deleteProperty(object, key);
  copyContents(object, made);
  versions?.onContentsReplaced(object);
}

/**
 * Copies the contents of `made` but keeps the object's own facts. Only the floats come from `made`: its other facts
 * describe another object.
 */
function copyContents(object: KubeObject, made: JsonObject): void {
  const facts = object[FACTS];
  Object.assign(object, made);
  if (facts !== undefined) object[FACTS] = facts;
  else delete object[FACTS];
  takeFloats(object, made);
}
