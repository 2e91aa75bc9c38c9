import type { UserInfo } from './user.js';

/** The server's own identity towards its own API. It is known by being this object: others may have the name. */
export const LOOPBACK_USER: UserInfo = { name: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} };
