import type { Namespace } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsLabel } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import {
  applyNamespaceDefaults,
  namespaceDeletion,
  namespaceFinalizeStrategy,
  namespaceStatusStrategy,
  namespaceStrategy,
} from './strategy.js';

const namespaceTable = tableOf<Namespace>('api/v1/namespaces', (object) => [
  object.metadata.name ?? '',
  object.status?.phase ?? '',
  Age.of(object),
]);

export const namespaces = builtinType<Namespace>({
  group: '',
  resource: 'namespaces',
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
    'status.phase': object.status?.phase ?? '',
    name: object.metadata.name ?? '',
  }),
});
