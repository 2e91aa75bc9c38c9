import { takeFloats } from '../apimachinery/json/float.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from './interfaces.js';

/** Gives the request's object the contents that a mutation made: the object itself stays the one that handlers hold. */
export function exchangeContents({ object, versions }: AdmissionAttributes, made: KubeObject): void {
  if (object === undefined || object === made) return;
  for (const key in object) Reflect.deleteProperty(object, key);
  Object.assign(object, made);
  takeFloats(object, made);
  versions?.exchanged(object);
}
