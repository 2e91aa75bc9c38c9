import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { objectAt, stringsOf } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { ResourceType } from '../../../rest/interfaces.js';
import { choiceIfSet, eachErrors, noDuplicates } from '../../shared/checks.js';
import { defaultBinding, validateCommonBinding } from '../shared/binding.js';
import type { ParamAccess } from '../shared/param-access.js';
import { bindingStrategy } from '../shared/strategy.js';
import { bindingTable } from '../shared/tables.js';
import { admissionType, VALIDATING_VERSIONS } from '../shared/type.js';

const ACTIONS = ['Audit', 'Deny', 'Warn'];

function validateActions(actions: readonly string[], path: FieldPath): FieldError[] {
  const again = noDuplicates();
  const errors = eachErrors(actions, path, (action, at) => [...choiceIfSet(action, at, ACTIONS), ...again(action, at)]);
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const why =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(invalid(path, [...actions], why));
  }
  if (actions.length === 0) errors.push(required(path, 'at least one validation action is required'));
  return errors;
}

export const validateValidatingBinding = (binding: KubeObject): FieldError[] => [
  ...validateCommonBinding(binding),
  ...validateActions(
    stringsOf(objectAt(binding, 'spec')?.['validationActions']),
    FieldPath.of('spec', 'validationActions'),
  ),
];

export const validatingAdmissionPolicyBindings = (access: ParamAccess): ResourceType =>
  admissionType({
    resource: 'validatingadmissionpolicybindings',
    kind: 'ValidatingAdmissionPolicyBinding',
    ...VALIDATING_VERSIONS,
    strategy: bindingStrategy(validateValidatingBinding, 'ValidatingAdmissionPolicy', access),
    table: bindingTable('validatingadmissionpolicybindings'),
    applyDefaults: defaultBinding,
  });
