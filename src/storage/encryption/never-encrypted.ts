import { isLogIdentity } from '../log-identity.js';

/** The type of the object with the keys that servers share; it encrypts its own secret parts, and tells the rest to everybody. */
export const SHARED_KEYS = 'shared-keys.internal.kubeannex.io';

/** Reports whether no encryption applies to a type. */
export const isNeverEncrypted = (resource: string): boolean => isLogIdentity(resource) || resource === SHARED_KEYS;
