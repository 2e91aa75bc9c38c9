import { takeFloats } from '../apimachinery/json/float.js';
import { FACTS, type JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from './interfaces.js';

/** Gives the request's object the contents that a mutation made: the object itself stays the one that handlers hold. */
export function exchangeContents({ object, versions }: AdmissionAttributes, made: KubeObject): void {
  if (object === undefined || object === made) return;
  // Whatever comes after would be slower with an object that lost members and got them again.
  for (const key in object) if (!Object.hasOwn(made, key)) Reflect.deleteProperty(object, key);
  takeContents(object, made);
  versions?.exchanged(object);
}

/** Of what is known of the contents only the floats come along: the rest is about the object that they came from. */
function takeContents(object: KubeObject, made: JsonObject): void {
  const facts = object[FACTS];
  Object.assign(object, made);
  if (facts !== undefined) object[FACTS] = facts;
  else delete object[FACTS];
  takeFloats(object, made);
}
