import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import type { ResourceType } from '../../../rest/interfaces.js';
import type { ParamAccess } from '../shared/param-access.js';
import { policyStrategy } from '../shared/strategy.js';
import { policyTable } from '../shared/tables.js';
import { defaultPolicy } from '../validatingadmissionpolicies/type.js';
import { validatePolicy } from './validation.js';

export const mutatingAdmissionPolicies = (access: ParamAccess): ResourceType =>
  builtinType({
    group: 'admissionregistration.k8s.io',
    resource: 'mutatingadmissionpolicies',
    singular: 'mutatingadmissionpolicy',
    kind: 'MutatingAdmissionPolicy',
    categories: ['api-extensions'],
    namespaced: false,
    lifecycle: { introduced: 36 },
    announcedStorageVersion: 'v1beta1',
    otherVersions: {
      v1beta1: {
        introduced: 34,
        deprecated: 37,
        removed: 40,
        replacement: 'admissionregistration.k8s.io/v1 MutatingAdmissionPolicy',
      },
      v1alpha1: { introduced: 32, deprecated: 35, removed: 38 },
    },
    validateName: nameIsDnsSubdomain,
    strategy: policyStrategy({ validate: validatePolicy }, access),
    table: policyTable('mutatingadmissionpolicies', 'mutations'),
    applyDefaults: defaultPolicy,
  });
