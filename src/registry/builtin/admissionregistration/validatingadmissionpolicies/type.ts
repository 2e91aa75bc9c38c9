import { objectAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType, noop, resets } from '../../shared/resource-type.js';
import { keepField } from '../../shared/fields.js';
import type { ResourceType, Strategy } from '../../../rest/interfaces.js';
import { defaultMatchResources } from '../shared/match-resources.js';
import { keepMetadataForStatus } from '../shared/metadata.js';
import type { ParamAccess } from '../shared/param-access.js';
import { policyStrategy } from '../shared/strategy.js';
import { policyTable } from '../shared/tables.js';
import { validatePolicy, validatePolicyStatus } from './validation.js';

/** Sets the defaults of a policy of either kind. */
export function defaultPolicy(policy: KubeObject): void {
  const spec = objectAt(policy, 'spec');
  if (spec === undefined) return;
  spec['failurePolicy'] ??= 'Fail';
  defaultMatchResources(objectAt(spec, 'matchConstraints'));
}

const statusStrategy: Strategy = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: false,
  prepareForCreate: noop,
  validateCreate: () => [],
  prepareForUpdate: (_context, policy, old) => {
    keepField('spec', policy, old);
    keepMetadataForStatus(policy, old);
  },
  validateUpdate: (_context, policy) => validatePolicyStatus(policy),
  resetFields: resets(['spec'], ['metadata']),
};

export const validatingAdmissionPolicies = (access: ParamAccess): ResourceType =>
  builtinType({
    group: 'admissionregistration.k8s.io',
    resource: 'validatingadmissionpolicies',
    singular: 'validatingadmissionpolicy',
    kind: 'ValidatingAdmissionPolicy',
    categories: ['api-extensions'],
    namespaced: false,
    otherVersions: { v1beta1: { introduced: 28, deprecated: 31, removed: 34 } },
    validateName: nameIsDnsSubdomain,
    strategy: policyStrategy(
      {
        validate: validatePolicy,
        prepareForCreate: (policy) => {
          policy['status'] = {};
        },
        prepareForUpdate: (policy, old) => {
          keepField('status', policy, old);
        },
        resetFields: resets(['status']),
      },
      access,
    ),
    subresources: { status: statusStrategy },
    table: policyTable('validatingadmissionpolicies', 'validations'),
    applyDefaults: defaultPolicy,
  });
