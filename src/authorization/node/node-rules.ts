import type { PolicyRule } from '../rbac/types.js';

const READ: readonly string[] = ['get', 'list', 'watch'];

function rule(apiGroups: readonly string[], resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups, resources, verbs, resourceNames: [], nonResourceURLs: [] };
}

/** The rules for every node, apart from what depends on its pods (system:node without the types that are restricted to related objects). */
export const NODE_RULES: readonly PolicyRule[] = [
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
export const NODE_RULES_WITHOUT_SELECTORS: readonly PolicyRule[] = [
  rule([''], ['nodes'], ['create', 'get', 'list', 'watch', 'update', 'patch']),
  rule([''], ['nodes/status'], ['update', 'patch']),
  rule([''], ['pods'], ['get', 'list', 'watch', 'create', 'delete']),
  rule([''], ['pods/status'], ['update', 'patch']),
  rule([''], ['pods/eviction'], ['create']),
];
