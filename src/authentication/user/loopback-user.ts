import type { UserInfo } from './user.js';

/** The server's own identity towards its own API. It is compared by object identity, because other users may have the same name. */
export const LOOPBACK_USER: UserInfo = { name: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} };
