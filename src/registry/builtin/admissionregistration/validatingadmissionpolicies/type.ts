import type { ValidatingAdmissionPolicy } from '../../../../apimachinery/generated/admissionregistration.js';
import { keepField } from '../../shared/fields.js';
import { resets } from '../../shared/resource-type.js';
import type { ResourceType, Strategy } from '../../../rest/interfaces.js';
import type { ParamAccess } from '../shared/param-access.js';
import { defaultPolicy } from '../shared/policy-spec.js';
import { policyStrategy } from '../shared/strategy.js';
import { policyTable } from '../shared/tables.js';
import { admissionType, VALIDATING_VERSIONS } from '../shared/type.js';
import { validatePolicy, validatePolicyStatus } from './validation.js';

/** The metadata that a status update does not change. */
const KEPT_METADATA = [
  'deletionTimestamp',
  'generation',
  'selfLink',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
];

const statusStrategy: Strategy<ValidatingAdmissionPolicy> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: false,
  validateCreate: () => [],
  prepareForUpdate: (_context, policy, old) => {
    keepField('spec', policy, old);
    for (const field of KEPT_METADATA) keepField(field, policy.metadata, old.metadata);
  },
  validateUpdate: (_context, policy) => validatePolicyStatus(policy),
  resetFields: resets(['spec'], ['metadata']),
};

export const validatingAdmissionPolicies = (access: ParamAccess): ResourceType =>
  admissionType({
    resource: 'validatingadmissionpolicies',
    kind: 'ValidatingAdmissionPolicy',
    ...VALIDATING_VERSIONS,
    strategy: {
      ...policyStrategy(validatePolicy, access),
      prepareForCreate: (_context, policy) => {
        policy['status'] = {};
      },
      prepareForUpdate: (_context, policy, old) => keepField('status', policy, old),
      resetFields: resets(['status']),
    },
    subresources: { status: statusStrategy },
    table: policyTable('validatingadmissionpolicies', 'validations'),
    applyDefaults: defaultPolicy,
  });
