import { customResourceDefinitions } from '../registry/apiextensions/customresourcedefinition/type.js';
import { certificateSigningRequests } from '../registry/builtin/certificates/certificatesigningrequests/type.js';
import { builtinResourceTypes } from '../registry/builtin/core/index.js';
import { resourceDefinitionType } from '../registry/builtin/kubeannex/resource-definitions.js';
import type { EscalationDependencies } from '../registry/builtin/rbac/escalation.js';
import { rbacTypes } from '../registry/builtin/rbac/types.js';
import type { ResourceType } from '../registry/rest/interfaces.js';

/** The built-in types whose writes depend only on the request, the store, and calls to the main thread. */
export function offloadableBuiltins(dependencies: EscalationDependencies): ResourceType[] {
  return [
    ...builtinResourceTypes(),
    ...rbacTypes(dependencies),
    certificateSigningRequests,
    customResourceDefinitions,
    resourceDefinitionType(() => undefined),
  ];
}

/** The `group/resource` of these types. */
export function offloadableNames(): ReadonlySet<string> {
  const nobody: EscalationDependencies = {
    authorizer: { authorize: () => Promise.reject(new Error('no authorizer: only the names of the types are needed')) },
    rules: { policyRulesFor: () => ({ rules: [], unresolved: [] }), roleRules: () => undefined },
  };
  return new Set(offloadableBuiltins(nobody).map(({ group, resource }) => `${group}/${resource}`));
}
