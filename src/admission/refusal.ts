import { type ApiError, newForbidden } from '../apimachinery/meta/errors.js';
import type { AdmissionAttributes } from './interfaces.js';

/** Returns the 403 with which a plugin refuses a request. It names the object; before that has a name, its generateName. */
export function refusal({ resource, name, object }: AdmissionAttributes, why: string): ApiError {
  return newForbidden(resource, name || object?.metadata.name || object?.metadata.generateName || 'Unknown', why);
}
