import { duplicate, type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { objectAt } from '../../../../apimachinery/json/json.js';
import { stringsOf } from '../../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { ResourceType } from '../../../rest/interfaces.js';
import { choiceIfSet } from '../../shared/checks.js';
import { defaultBinding, validateCommonBinding } from '../shared/binding.js';
import type { ParamAccess } from '../shared/param-access.js';
import { bindingStrategy } from '../shared/strategy.js';
import { bindingTable } from '../shared/tables.js';
import { admissionType, VALIDATING_VERSIONS } from '../shared/type.js';

const ACTIONS = ['Audit', 'Deny', 'Warn'];

function validateActions(actions: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  actions.forEach((action, i) => {
    errors.push(...choiceIfSet(action, path.index(i), ACTIONS));
    if (seen.has(action)) errors.push(duplicate(path.index(i), action));
    seen.add(action);
  });
  if (seen.has('Deny') && seen.has('Warn')) {
    const why =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(invalid(path, [...actions], why));
  }
  if (seen.size === 0) errors.push(required(path, 'at least one validation action is required'));
  return errors;
}

const validate = (binding: KubeObject): FieldError[] => [
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
    strategy: bindingStrategy(validate, 'ValidatingAdmissionPolicy', access),
    table: bindingTable('validatingadmissionpolicybindings'),
    applyDefaults: defaultBinding,
  });
