import type { JsonObject } from '../../apimachinery/json/json.js';
import { wellFormed } from '../../util/text/utf8.js';
import type { UserInfo } from './user.js';

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
