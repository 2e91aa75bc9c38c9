import { type ApiError, newForbidden } from '../apimachinery/meta/errors.js';
import type { AdmissionAttributes } from './interfaces.js';

/** What refusals call the object: before it has a name, by the prefix of the name it is going to have. */
function refusedName({ name, object }: Pick<AdmissionAttributes, 'name' | 'object'>): string {
  if (name !== '') return name;
  return object?.metadata.name || object?.metadata.generateName || 'Unknown';
}

/** The 403 of a plugin that refuses a request. */
export const refusal = (attributes: AdmissionAttributes, why: string): ApiError =>
  newForbidden(attributes.resource, refusedName(attributes), why);
