import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { leaseStrategy } from './strategy.js';
import { leaseTable } from './table.js';

export const leases = builtinType({
  group: 'coordination.k8s.io',
  resource: 'leases',
  singular: 'lease',
  kind: 'Lease',
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: leaseStrategy,
  table: leaseTable,
});
