import type { Lease } from '../../../../apimachinery/generated/coordination.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { leaseStrategy } from './strategy.js';

const leaseTable = tableOf<Lease>('apis/coordination.k8s.io/v1/leases', (object) => [
  object.metadata.name ?? '',
  object.spec?.holderIdentity ?? '',
  Age.of(object),
]);

export const leases = builtinType<Lease>({
  group: 'coordination.k8s.io',
  resource: 'leases',
  kind: 'Lease',
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: leaseStrategy,
  table: leaseTable,
});
