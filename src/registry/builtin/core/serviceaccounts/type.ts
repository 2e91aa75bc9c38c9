import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { serviceAccountStrategy } from './strategy.js';
import { serviceAccountTable } from './table.js';

export const serviceAccounts = builtinType({
  group: '',
  resource: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  shortNames: ['sa'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: serviceAccountStrategy,
  table: serviceAccountTable,
  returnsDeletedObject: true,
});
