import { quote } from '../../apimachinery/meta/meta.js';
import { NODE_USER_PREFIX, NODES_GROUP, type UserInfo } from '../../authentication/user/user.js';
import type {
  AuthorizationResult,
  Authorizer,
  AuthorizerAttributes,
  RuleResolver,
  RulesResult,
} from '../authorizer/interfaces.js';
import { NO_OPINION, result, ALLOW } from '../authorizer/results.js';
import { PermissionTable } from '../rbac/permission-table.js';
import type { NodeGraph } from './node-graph.js';
import type { ReferenceKind } from './references.js';
import type { PolicyRule } from '../rbac/types.js';

const READ: readonly string[] = ['get', 'list', 'watch'];

function rule(apiGroups: readonly string[], resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups, resources, verbs, resourceNames: [], nonResourceURLs: [] };
}

/** The rules for every node, apart from what depends on its pods (system:node without the types that are restricted to related objects). */
const NODE_RULES: readonly PolicyRule[] = [
  rule(['authentication.k8s.io'], ['tokenreviews'], ['create']),
  rule(['authorization.k8s.io'], ['subjectaccessreviews', 'localsubjectaccessreviews'], ['create']),
  rule([''], ['services'], READ),
  rule(['', 'events.k8s.io'], ['events'], ['create', 'update', 'patch']),
  rule([''], ['endpoints'], ['get']),
  rule(['certificates.k8s.io'], ['certificatesigningrequests'], ['create', ...READ]),
  rule(['storage.k8s.io'], ['csidrivers'], READ),
  rule(['node.k8s.io'], ['runtimeclasses'], READ),
];

/** Additional rules if requests of nodes are not restricted by selectors (bootstrappolicy.NodeRules). */
const NODE_RULES_WITHOUT_SELECTORS: readonly PolicyRule[] = [
  rule([''], ['nodes'], ['create', 'get', 'list', 'watch', 'update', 'patch']),
  rule([''], ['nodes/status'], ['update', 'patch']),
  rule([''], ['pods'], ['get', 'list', 'watch', 'create', 'delete']),
  rule([''], ['pods/status'], ['update', 'patch']),
  rule([''], ['pods/eviction'], ['create']),
];

const NODE_LEASES = 'kube-node-lease';
const LEASE_VERBS = ['get', 'create', 'update', 'patch', 'delete'];
const READ_VERBS = ['get', 'list', 'watch'];

/** Kinds that a node may access only through the graph. */
type GraphKind = ReferenceKind | 'persistentvolume';

const RULES = new PermissionTable<true>();
RULES.add(NODE_RULES, true);
const WIDE_RULES = new PermissionTable<true>();
WIDE_RULES.add([...NODE_RULES, ...NODE_RULES_WITHOUT_SELECTORS], true);

const COMPLETE: RulesResult = { resourceRules: [], nonResourceRules: [], incomplete: false, error: '' };
const INCOMPLETE: RulesResult = {
  ...COMPLETE,
  incomplete: true,
  error: 'node authorizer does not support user rule resolution',
};

/** Returns the name of the node that the user represents, or undefined if it is not a node. */
export function nodeIdentity(user: UserInfo): string | undefined {
  if (!user.name.startsWith(NODE_USER_PREFIX) || !user.groups.includes(NODES_GROUP)) return undefined;
  return user.name.slice(NODE_USER_PREFIX.length);
}

const no = (reason: string): AuthorizationResult => result('no-opinion', reason);

export interface NodeAuthorizerOptions {
  /** Nodes may read nodes and pods only if a name or a field selector limits the request to their own (AuthorizeNodeWithSelectors). */
  readonly selectors: boolean;
}

/** Authorizes kubelets: by fixed rules, and for some types only for objects related to their own node and its pods. */
export class NodeAuthorizer implements Authorizer, RuleResolver {
  constructor(
    private readonly graph: NodeGraph,
    private readonly options: NodeAuthorizerOptions = { selectors: true },
  ) {}

  rulesFor(user: UserInfo): RulesResult {
    return nodeIdentity(user) === undefined ? COMPLETE : INCOMPLETE;
  }

  authorize(attributes: AuthorizerAttributes): AuthorizationResult {
    const node = nodeIdentity(attributes.user);
    if (node === undefined) return NO_OPINION;
    if (node === '') return no(`unknown node for user ${quote(attributes.user.name)}`);
    if (attributes.resourceRequest) {
      const divided = this.authorizeNodeScoped(node, attributes);
      if (divided !== undefined) return divided;
    }
    const rules = this.options.selectors ? RULES : WIDE_RULES;
    return rules.find(attributes) === undefined ? NO_OPINION : ALLOW;
  }

  /** Decides for types of which a node may access only some objects; undefined for other types. */
  private authorizeNodeScoped(node: string, attributes: AuthorizerAttributes): AuthorizationResult | undefined {
    switch (attributes.apiGroup) {
      case '':
        return this.core(node, attributes);
      case 'coordination.k8s.io':
        return attributes.resource === 'leases' ? lease(node, attributes) : undefined;
      case 'storage.k8s.io':
        if (attributes.resource === 'csinodes') return csiNode(node, attributes);
        return attributes.resource === 'volumeattachments' ? getOnly(attributes, () => unrelated(node)) : undefined;
      case 'resource.k8s.io':
        if (attributes.resource === 'resourceslices') return resourceSlice(node, attributes, this.options);
        return attributes.resource === 'resourceclaims' ? this.get(node, 'resourceclaim', attributes) : undefined;
      case 'certificates.k8s.io':
        return attributes.resource === 'podcertificaterequests' ? NO_OPINION : undefined;
      default:
        return undefined;
    }
  }

  private core(node: string, attributes: AuthorizerAttributes): AuthorizationResult | undefined {
    switch (attributes.resource) {
      case 'secrets':
        return this.read(node, 'secret', attributes);
      case 'configmaps':
        return this.read(node, 'configmap', attributes);
      case 'persistentvolumeclaims':
        if (attributes.subresource === 'status') return this.claimStatus(node, attributes);
        return this.get(node, 'persistentvolumeclaim', attributes);
      case 'persistentvolumes':
        return this.get(node, 'persistentvolume', attributes);
      case 'serviceaccounts':
        return this.serviceAccount(node, attributes);
      case 'nodes':
        return this.options.selectors ? ownNode(node, attributes) : undefined;
      case 'pods':
        return this.options.selectors ? this.pod(node, attributes) : undefined;
      default:
        return undefined;
    }
  }

  private related(node: string, kind: GraphKind, { namespace, name }: AuthorizerAttributes): AuthorizationResult {
    if (name === '') return no('No Object name found');
    return this.graph.hasPath(node, kind, namespace, name) ? ALLOW : unrelated(node);
  }

  private get(node: string, kind: GraphKind, attributes: AuthorizerAttributes): AuthorizationResult {
    return getOnly(attributes, () => this.related(node, kind, attributes));
  }

  private read(node: string, kind: GraphKind, attributes: AuthorizerAttributes): AuthorizationResult {
    if (!READ_VERBS.includes(attributes.verb)) return no('can only read resources of this type');
    if (attributes.subresource !== '') return no('cannot read subresource');
    if (attributes.namespace === '') return no('can only read namespaced object of this type');
    return this.related(node, kind, attributes);
  }

  private claimStatus(node: string, attributes: AuthorizerAttributes): AuthorizationResult {
    if (attributes.verb !== 'update' && attributes.verb !== 'patch') return no('can only get/update/patch this type');
    return this.related(node, 'persistentvolumeclaim', attributes);
  }

  private serviceAccount(node: string, attributes: AuthorizerAttributes): AuthorizationResult {
    const { verb, subresource, name } = attributes;
    if (verb === 'get' && subresource === '') return this.read(node, 'serviceaccount', attributes);
    if (verb !== 'create' || name === '') return no('can only create tokens for individual service accounts');
    if (subresource !== 'token') return no('can only create token subresource of serviceaccount');
    return this.related(node, 'serviceaccount', attributes);
  }

  private pod(node: string, attributes: AuthorizerAttributes): AuthorizationResult {
    const { verb, subresource, name } = attributes;
    if (subresource === 'status') return verb === 'update' || verb === 'patch' ? ALLOW : NO_OPINION;
    if (subresource === 'eviction') return verb === 'create' ? ALLOW : NO_OPINION;
    if (subresource !== '') return NO_OPINION;
    // Admission limits a node to mirror pods and its own pods.
    if (verb === 'create' || verb === 'delete') return ALLOW;
    if (verb === 'get') return this.related(node, 'pod', attributes);
    if (verb !== 'list' && verb !== 'watch') return NO_OPINION;
    if (selectsNode(attributes, node)) return ALLOW;
    return name === ''
      ? no('can only list/watch pods with spec.nodeName field selector')
      : this.related(node, 'pod', attributes);
  }
}

const unrelated = (node: string): AuthorizationResult =>
  no(`no relationship found between node '${node}' and this object`);

function getOnly(attributes: AuthorizerAttributes, then: () => AuthorizationResult): AuthorizationResult {
  if (attributes.verb !== 'get') return no('can only get individual resources of this type');
  if (attributes.subresource !== '') return no('cannot get subresource');
  return attributes.name === '' ? no('No Object name found') : then();
}

function selectsNode({ fieldSelector }: AuthorizerAttributes, node: string): boolean {
  return (fieldSelector ?? []).some(
    ({ key, operator, values }) =>
      key === 'spec.nodeName' && operator === 'In' && values.length === 1 && values[0] === node,
  );
}

/** Compares by name, so that a kubelet can read its node before it has created it. */
function ownNode(node: string, { subresource, verb, name }: AuthorizerAttributes): AuthorizationResult {
  const writes = verb === 'update' || verb === 'patch';
  if (subresource === 'status') return writes ? ALLOW : NO_OPINION;
  if (subresource !== '') return NO_OPINION;
  // Admission limits a node to its own object.
  if (writes || verb === 'create') return ALLOW;
  if (!READ_VERBS.includes(verb)) return NO_OPINION;
  if (name === node) return ALLOW;
  if (name === '') return no(`node '${node}' cannot read all nodes, only its own Node object`);
  return no(`node '${node}' cannot read '${name}', only its own Node object`);
}

function lease(node: string, { verb, namespace, name }: AuthorizerAttributes): AuthorizationResult {
  if (!LEASE_VERBS.includes(verb)) return no('can only get, create, update, patch, or delete a node lease');
  if (namespace !== NODE_LEASES) return no(`can only access leases in the ${quote(NODE_LEASES)} system namespace`);
  // On create the name is not known yet; admission checks it.
  if (verb !== 'create' && name !== node)
    return no('can only access node lease with the same name as the requesting node');
  return ALLOW;
}

function csiNode(node: string, { verb, subresource, name }: AuthorizerAttributes): AuthorizationResult {
  if (!LEASE_VERBS.includes(verb)) return no('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return no('cannot authorize CSINode subresources');
  if (verb !== 'create' && name !== node)
    return no('can only access CSINode with the same name as the requesting node');
  return ALLOW;
}

function resourceSlice(
  node: string,
  attributes: AuthorizerAttributes,
  { selectors }: NodeAuthorizerOptions,
): AuthorizationResult {
  const { verb, subresource, name } = attributes;
  if (subresource !== '') return no('cannot authorize ResourceSlice subresources');
  if (verb === 'create') return ALLOW;
  if (['get', 'update', 'patch', 'delete'].includes(verb))
    return name === '' ? no('No Object name found') : unrelated(node);
  if (!['watch', 'list', 'deletecollection'].includes(verb)) {
    return no(
      'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
    );
  }
  if (!selectors || selectsNode(attributes, node)) return ALLOW;
  return no('can only list/watch/deletecollection resourceslices with nodeName field selector');
}
