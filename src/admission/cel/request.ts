import type { JsonObject } from '../../apimachinery/json/json.js';
import type { GroupVersionKind, GroupVersionResource } from '../../apimachinery/meta/meta.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type { AdmissionAttributes, VersionedResource } from '../interfaces.js';

/** The attributes of a request that its AdmissionRequest contains. */
export type RequestFacts = Pick<
  AdmissionAttributes,
  'operation' | 'kind' | 'resource' | 'subresource' | 'namespace' | 'name' | 'options' | 'dryRun' | 'user'
>;

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

/**
 * Returns `request` for expressions: an AdmissionRequest without the objects and without empty fields. `matched` are the kind and
 * resource under which a rule has matched: they differ from the request's own if an equivalent version matched.
 */
export function admissionRequest(facts: RequestFacts, matched: VersionedResource): JsonObject {
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
    options: facts.options,
  };
  if (facts.subresource !== '') {
    request['subResource'] = facts.subresource;
    request['requestSubResource'] = facts.subresource;
  }
  if (facts.name !== '') request['name'] = facts.name;
  if (facts.namespace !== '') request['namespace'] = facts.namespace;
  return request;
}
