import type { FieldError } from '../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../request/context.js';
import { emptyListIsNull } from '../shared/fields.js';
import type { Strategy } from '../../rest/interfaces.js';
import { validateCoreMetaUpdate } from '../shared/meta.js';
import { defaultBinding, roleRefErrors, validateBinding, validateClusterRole, validateRole } from './validation.js';

/**
 * Returns the strategy of one of the four kinds, which differ only in validation and normalization. `change` validates what an
 * update changes. A PUT may create the objects, and they may be updated without a resourceVersion.
 */
function strategy(
  validate: (object: KubeObject) => FieldError[],
  prepare: (object: KubeObject) => void,
  change: (object: KubeObject, old: KubeObject) => FieldError[] = () => [],
): Strategy {
  return {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
    prepareForCreate: (_context: RequestContext, object: KubeObject) => prepare(object),
    prepareForUpdate: (_context: RequestContext, object: KubeObject) => prepare(object),
    validateCreate: (_context: RequestContext, object: KubeObject) => validate(object),
    validateUpdate: (_context: RequestContext, object: KubeObject, old: KubeObject) => [
      ...validate(object),
      ...validateCoreMetaUpdate(object.metadata, old.metadata),
      ...change(object, old),
    ],
  };
}

const emptyRulesAreNull = (role: KubeObject): void => emptyListIsNull(role, 'rules');

export const roleStrategy = strategy(validateRole, emptyRulesAreNull);

export const clusterRoleStrategy = strategy(validateClusterRole, emptyRulesAreNull);

export const roleBindingStrategy = strategy(
  (binding) => validateBinding(binding, 'Namespaced'),
  defaultBinding,
  roleRefErrors,
);

export const clusterRoleBindingStrategy = strategy(
  (binding) => validateBinding(binding, 'Cluster'),
  defaultBinding,
  roleRefErrors,
);
