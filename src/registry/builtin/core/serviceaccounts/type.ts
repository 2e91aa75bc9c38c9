import type { ServiceAccount } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { serviceAccountStrategy } from './strategy.js';

const serviceAccountTable = tableOf<ServiceAccount>('api/v1/serviceaccounts', (object) => [
  object.metadata.name ?? '',
  Age.of(object),
]);

export const serviceAccounts = builtinType<ServiceAccount>({
  group: '',
  resource: 'serviceaccounts',
  kind: 'ServiceAccount',
  shortNames: ['sa'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: serviceAccountStrategy,
  table: serviceAccountTable,
  returnsDeletedObject: true,
});
