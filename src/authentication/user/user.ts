import type { JsonObject } from '../../apimachinery/json/json.js';
import { wellFormed } from '../../util/text/utf8.js';

/** The user of a request (spec: Authentication, Model). All values are opaque to authentication. */
export interface UserInfo {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS = 'system:anonymous';
export const ALL_AUTHENTICATED = 'system:authenticated';
export const ALL_UNAUTHENTICATED = 'system:unauthenticated';
export const SYSTEM_PRIVILEGED_GROUP = 'system:masters';
export const NODES_GROUP = 'system:nodes';
export const NODE_USER_PREFIX = 'system:node:';
export const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';
export const ALL_SERVICE_ACCOUNTS = 'system:serviceaccounts';

/** Reports whether every request of the user is authorized. */
export const isPrivileged = ({ groups }: UserInfo): boolean => groups.includes(SYSTEM_PRIVILEGED_GROUP);

/** The server's own identity towards its own API. It is compared by object identity, because other users may have the same name. */
export const LOOPBACK_USER: UserInfo = { name: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} };

/** Returns a user as it appears in API objects, without empty fields. Names may come from headers, whose bytes need not be UTF-8. */
export function userInfoJson({ name, uid, groups, extra }: UserInfo): JsonObject {
  const keys = Object.keys(extra).sort();
  return {
    ...(name !== '' && { username: wellFormed(name) }),
    ...(uid !== '' && { uid: wellFormed(uid) }),
    ...(groups.length > 0 && { groups: groups.map(wellFormed) }),
    ...(keys.length > 0 && {
      extra: Object.fromEntries(keys.map((key) => [wellFormed(key), (extra[key] ?? []).map(wellFormed)])),
    }),
  };
}
