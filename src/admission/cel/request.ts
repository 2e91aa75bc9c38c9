import type { JsonObject } from '../../apimachinery/json/json.js';
import type { GroupVersionKind, GroupVersionResource } from '../../apimachinery/meta/meta.js';
import type { UserInfo } from '../../authentication/user/user.js';

/** The attributes of a request that its AdmissionRequest contains. */
export interface RequestFacts {
  readonly operation: string;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly options: JsonObject | undefined;
  readonly dryRun: boolean;
  readonly user: UserInfo;
}

/** The kind and resource under which a rule has matched a request. They differ from the request's own if an equivalent version matched. */
export interface MatchedAs {
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
}

const kindOf = ({ group, version, kind }: GroupVersionKind): JsonObject => ({ group, version, kind });
const resourceOf = ({ group, version, resource }: GroupVersionResource): JsonObject => ({ group, version, resource });

function userOf(user: UserInfo): JsonObject {
  const out: JsonObject = {};
  if (user.name !== '') out['username'] = user.name;
  if (user.uid !== '') out['uid'] = user.uid;
  if (user.groups.length > 0) out['groups'] = [...user.groups];
  const extra = Object.entries(user.extra);
  if (extra.length > 0) out['extra'] = Object.fromEntries(extra.map(([key, values]) => [key, [...values]]));
  return out;
}

/** Returns `request` for expressions: an AdmissionRequest without the objects and without empty fields. */
export function admissionRequest(facts: RequestFacts, matched: MatchedAs): JsonObject {
  const request: JsonObject = {
    uid: '',
    kind: kindOf(matched.kind),
    resource: resourceOf(matched.resource),
    requestKind: kindOf(facts.kind),
    requestResource: resourceOf(facts.resource),
    operation: facts.operation,
    userInfo: userOf(facts.user),
    object: null,
    oldObject: null,
    dryRun: facts.dryRun,
    options: facts.options ?? null,
  };
  if (facts.subresource !== '') {
    request['subResource'] = facts.subresource;
    request['requestSubResource'] = facts.subresource;
  }
  if (facts.name !== '') request['name'] = facts.name;
  if (facts.namespace !== '') request['namespace'] = facts.namespace;
  return request;
}
