import { type FieldError, FieldPath } from '../../../../apimachinery/meta/field-error.js';
import { objectAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { ResourceType } from '../../../rest/interfaces.js';
import { defaultBinding, validateCommonBinding } from '../shared/binding.js';
import { validateMutatingOperations } from '../shared/match-resources.js';
import type { ParamAccess } from '../shared/param-access.js';
import { bindingStrategy } from '../shared/strategy.js';
import { bindingTable } from '../shared/tables.js';
import { admissionType, mutatingVersions } from '../shared/type.js';

export const validateMutatingBinding = (binding: KubeObject): FieldError[] => [
  ...validateCommonBinding(binding),
  ...validateMutatingOperations(
    objectAt(objectAt(binding, 'spec'), 'matchResources') ?? {},
    FieldPath.of('spec', 'matchResources'),
  ),
];

export const mutatingAdmissionPolicyBindings = (access: ParamAccess): ResourceType =>
  admissionType({
    resource: 'mutatingadmissionpolicybindings',
    kind: 'MutatingAdmissionPolicyBinding',
    ...mutatingVersions('MutatingAdmissionPolicyBinding'),
    strategy: bindingStrategy(validateMutatingBinding, 'MutatingAdmissionPolicy', access),
    table: bindingTable('mutatingadmissionpolicybindings'),
    applyDefaults: defaultBinding,
  });
