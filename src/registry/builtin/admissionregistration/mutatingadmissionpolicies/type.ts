import type { ResourceType } from '../../../rest/interfaces.js';
import type { ParamAccess } from '../shared/param-access.js';
import { defaultPolicy } from '../shared/policy-spec.js';
import { policyStrategy } from '../shared/strategy.js';
import { policyTable } from '../shared/tables.js';
import { admissionType, mutatingVersions } from '../shared/type.js';
import { validatePolicy } from './validation.js';

export const mutatingAdmissionPolicies = (access: ParamAccess): ResourceType =>
  admissionType({
    resource: 'mutatingadmissionpolicies',
    kind: 'MutatingAdmissionPolicy',
    ...mutatingVersions('MutatingAdmissionPolicy'),
    strategy: policyStrategy(validatePolicy, access),
    table: policyTable('mutatingadmissionpolicies', 'mutations'),
    applyDefaults: defaultPolicy,
  });
