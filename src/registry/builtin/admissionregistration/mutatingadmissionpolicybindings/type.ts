import { type FieldError, FieldPath } from '../../../../apimachinery/meta/field-error.js';
import { objectAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import type { ResourceType } from '../../../rest/interfaces.js';
import { defaultBinding, validateCommonBinding } from '../shared/binding.js';
import { validateMutatingOperations } from '../shared/match-resources.js';
import type { ParamAccess } from '../shared/param-access.js';
import { bindingStrategy } from '../shared/strategy.js';
import { bindingTable } from '../shared/tables.js';

const validate = (binding: KubeObject): FieldError[] => [
  ...validateCommonBinding(binding),
  ...validateMutatingOperations(
    objectAt(objectAt(binding, 'spec'), 'matchResources') ?? {},
    FieldPath.of('spec', 'matchResources'),
  ),
];

export const mutatingAdmissionPolicyBindings = (access: ParamAccess): ResourceType =>
  builtinType({
    group: 'admissionregistration.k8s.io',
    resource: 'mutatingadmissionpolicybindings',
    singular: 'mutatingadmissionpolicybinding',
    kind: 'MutatingAdmissionPolicyBinding',
    categories: ['api-extensions'],
    namespaced: false,
    lifecycle: { introduced: 36 },
    announcedStorageVersion: 'v1beta1',
    otherVersions: {
      v1beta1: {
        introduced: 34,
        deprecated: 37,
        removed: 40,
        replacement: 'admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding',
      },
      v1alpha1: { introduced: 32, deprecated: 35, removed: 38 },
    },
    validateName: nameIsDnsSubdomain,
    strategy: bindingStrategy({ validate }, 'MutatingAdmissionPolicy', access),
    table: bindingTable('mutatingadmissionpolicybindings'),
    applyDefaults: defaultBinding,
  });
