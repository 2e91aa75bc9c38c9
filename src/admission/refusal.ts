import { type ApiError, newForbidden } from '../apimachinery/meta/errors.js';
import type { AdmissionAttributes } from './interfaces.js';

/** Returns the name of the object for errors; before it has one, its generateName. */
function refusedName({ name, object }: Pick<AdmissionAttributes, 'name' | 'object'>): string {
  if (name !== '') return name;
  return object?.metadata.name || object?.metadata.generateName || 'Unknown';
}

/** Returns the 403 with which a plugin refuses a request. */
export const refusal = (attributes: AdmissionAttributes, why: string): ApiError =>
  newForbidden(attributes.resource, refusedName(attributes), why);
