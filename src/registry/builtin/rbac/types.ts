import type { RoleBinding, Subject } from '../../../apimachinery/generated/rbac.js';
import type { KubeObject, Scope } from '../../../apimachinery/meta/meta.js';
import { nameIsPathSegment } from '../../../apimachinery/validation/names.js';
import {
  AGE_COLUMN,
  column,
  CREATED_AT_COLUMN,
  defaultTable,
  NAME_COLUMN,
  tableWithAge,
} from '../../generic/columns.js';
import { RBAC_GROUP } from '../../../authorization/rbac/types.js';
import { builtinType } from '../shared/resource-type.js';
import type { ResourceType, Strategy, TableConvertor } from '../../rest/interfaces.js';
import { type EscalationDependencies, checkBindingEscalation, checkRoleEscalation } from './escalation.js';
import { defaultBinding, roleRefErrors, validateBinding, validateClusterRole, validateRole } from './validation.js';
import type { FieldError } from '../../../apimachinery/meta/field-error.js';
import { emptyListIsNull } from '../shared/fields.js';
import { validateCoreMetaUpdate } from '../shared/meta.js';

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
    prepareForCreate: (_context, object) => prepare(object),
    prepareForUpdate: (_context, object) => prepare(object),
    validateCreate: (_context, object) => validate(object),
    validateUpdate: (_context, object, old) => [
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

/** Returns the users, groups and service accounts of a binding, for its table. */
function subjects(binding: RoleBinding): string[] {
  const all = binding.subjects ?? [];
  const of = (kind: string): Subject[] => all.filter((subject) => subject.kind === kind);
  const names = (kind: string): string =>
    of(kind)
      .map((subject) => subject.name ?? '')
      .join(', ');
  const accounts = of('ServiceAccount').map((s) => `${s.namespace ?? ''}/${s.name ?? ''}`);
  return [names('User'), names('Group'), accounts.join(', ')];
}

function bindingTable(what: string, roleText: string): TableConvertor {
  const columns = [
    NAME_COLUMN,
    column('Role', 'string', roleText),
    AGE_COLUMN,
    column('Users', 'string', `Users in the ${what}`, 1),
    column('Groups', 'string', `Groups in the ${what}`, 1),
    column('ServiceAccounts', 'string', `ServiceAccounts in the ${what}`, 1),
  ];
  return tableWithAge(columns, (binding: RoleBinding) => {
    const ref = binding.roleRef;
    const role = `${ref?.kind ?? ''}/${ref?.name ?? ''}`;
    return [binding.metadata.name ?? '', role, ...subjects(binding)];
  });
}

function type(
  kind: string,
  scope: Scope,
  strategy: Strategy,
  table: TableConvertor,
  applyDefaults?: (object: KubeObject) => void,
): ResourceType {
  return builtinType({
    group: RBAC_GROUP,
    resource: `${kind.toLowerCase()}s`,
    kind,
    namespaced: scope === 'Namespaced',
    validateName: nameIsPathSegment,
    strategy,
    table,
    ...(applyDefaults && { applyDefaults }),
  });
}

/** Returns a strategy with a check against privilege escalation. */
const checked = (strategy: Strategy, check: typeof checkRoleEscalation, needs: EscalationDependencies): Strategy => ({
  ...strategy,
  checkEscalation: (context, object, old) => check(context, object, old, needs),
});

const UNRESOLVED = 'If the RoleRef cannot be resolved, the Authorizer must return an error.';
const LOCAL_REF = `roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. ${UNRESOLVED}`;
const GLOBAL_REF = `roleRef can only reference a ClusterRole in the global namespace. ${UNRESOLVED}`;
const roleTable: TableConvertor = { ...defaultTable, columns: [NAME_COLUMN, CREATED_AT_COLUMN] };

export const roles = (needs: EscalationDependencies): ResourceType =>
  type('Role', 'Namespaced', checked(roleStrategy, checkRoleEscalation, needs), roleTable);

export const clusterRoles = (needs: EscalationDependencies): ResourceType =>
  type('ClusterRole', 'Cluster', checked(clusterRoleStrategy, checkRoleEscalation, needs), roleTable);

export const roleBindings = (needs: EscalationDependencies): ResourceType => {
  const strategy = checked(roleBindingStrategy, checkBindingEscalation, needs);
  return type('RoleBinding', 'Namespaced', strategy, bindingTable('roleBinding', LOCAL_REF), defaultBinding);
};

export const clusterRoleBindings = (needs: EscalationDependencies): ResourceType => {
  const strategy = checked(clusterRoleBindingStrategy, checkBindingEscalation, needs);
  return type(
    'ClusterRoleBinding',
    'Cluster',
    strategy,
    bindingTable('clusterRoleBinding', GLOBAL_REF),
    defaultBinding,
  );
};
