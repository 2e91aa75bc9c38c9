import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyQuotaDefaults, quotaStatusStrategy, quotaStrategy } from './strategy.js';
import { quotaTable } from './table.js';

export const resourceQuotas = builtinType({
  group: '',
  resource: 'resourcequotas',
  singular: 'resourcequota',
  kind: 'ResourceQuota',
  shortNames: ['quota'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: quotaStrategy,
  subresources: { status: quotaStatusStrategy },
  table: quotaTable,
  applyDefaults: applyQuotaDefaults,
  returnsDeletedObject: true,
});
