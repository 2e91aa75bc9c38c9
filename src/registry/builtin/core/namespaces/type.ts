import { objectAt, stringAt } from '../../../../apimachinery/json/json.js';
import { nameIsDnsLabel } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import {
  applyNamespaceDefaults,
  namespaceDeletion,
  namespaceFinalizeStrategy,
  namespaceStatusStrategy,
  namespaceStrategy,
} from './strategy.js';
import { namespaceTable } from './table.js';

export const namespaces = builtinType({
  group: '',
  resource: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  shortNames: ['ns'],
  namespaced: false,
  isNamespace: true,
  validateName: nameIsDnsLabel,
  strategy: namespaceStrategy,
  subresources: { finalize: namespaceFinalizeStrategy, status: namespaceStatusStrategy },
  table: namespaceTable,
  applyDefaults: applyNamespaceDefaults,
  deletion: namespaceDeletion,
  returnsDeletedObject: true,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  selectableFields: ['status.phase'],
  fields: (object) => ({
    'status.phase': stringAt(objectAt(object, 'status'), 'phase') ?? '',
    name: stringAt(objectAt(object, 'metadata'), 'name') ?? '',
  }),
});
