import { resourceDefinitionType } from '../registry/apiextensions/resourcedefinition/type.js';
import type { EscalationDependencies } from '../registry/builtin/rbac/escalation.js';
import { offloadableKinds } from '../registry/kinds.js';
import type { ResourceType } from '../registry/rest/interfaces.js';

/** The built-in types that worker threads can write, in either mode. */
export const offloadableBuiltins = (escalation: EscalationDependencies): ResourceType[] => [
  ...offloadableKinds(escalation),
  resourceDefinitionType(() => undefined),
];

/** The `group/resource` of these types. */
export function offloadableNames(): ReadonlySet<string> {
  const nobody: EscalationDependencies = {
    authorizer: { authorize: () => Promise.reject(new Error('no authorizer: only the names of the types are needed')) },
    rules: { policyRulesFor: () => ({ rules: [], unresolved: [] }), roleRules: () => undefined },
  };
  return new Set(offloadableBuiltins(nobody).map(({ group, resource }) => `${group}/${resource}`));
}
