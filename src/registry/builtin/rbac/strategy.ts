import type { FieldError } from '../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../request/context.js';
import { emptyListIsNull } from '../shared/fields.js';
import type { Strategy } from '../../rest/interfaces.js';
import {
  defaultBinding,
  validateBinding,
  validateBindingUpdate,
  validateClusterRole,
  validateMetaUpdate,
  validateRole,
} from './validation.js';

type Validate = (object: KubeObject) => FieldError[];
type ValidateUpdate = (object: KubeObject, old: KubeObject) => FieldError[];

/**
 * Returns the strategy of one of the four kinds, which differ only in validation and normalization. A PUT may create the objects,
 * and they may be updated without a resourceVersion.
 */
function strategy(validate: Validate, validateUpdate: ValidateUpdate, prepare: (object: KubeObject) => void): Strategy {
  return {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
    prepareForCreate: (_context: RequestContext, object: KubeObject) => prepare(object),
    prepareForUpdate: (_context: RequestContext, object: KubeObject) => prepare(object),
    validateCreate: (_context: RequestContext, object: KubeObject) => validate(object),
    validateUpdate: (_context: RequestContext, object: KubeObject, old: KubeObject) => validateUpdate(object, old),
  };
}

const emptyRulesAreNull = (role: KubeObject): void => {
  emptyListIsNull(role, 'rules');
};

export const roleStrategy = strategy(
  validateRole,
  (role, old) => [...validateRole(role), ...validateMetaUpdate(role, old)],
  emptyRulesAreNull,
);

export const clusterRoleStrategy = strategy(
  validateClusterRole,
  (role, old) => [...validateClusterRole(role), ...validateMetaUpdate(role, old)],
  emptyRulesAreNull,
);

export const roleBindingStrategy = strategy(
  (binding) => validateBinding(binding, 'Namespaced'),
  (binding, old) => validateBindingUpdate(binding, old, 'Namespaced'),
  defaultBinding,
);

export const clusterRoleBindingStrategy = strategy(
  (binding) => validateBinding(binding, 'Cluster'),
  (binding, old) => validateBindingUpdate(binding, old, 'Cluster'),
  defaultBinding,
);
