import { objectAt, stringAt } from '../../../../apimachinery/json/json.js';
import { Age, tableOf } from '../../shared/table.js';

export const leaseTable = tableOf('apis/coordination.k8s.io/v1/leases', (object) => [
  object.metadata.name ?? '',
  stringAt(objectAt(object, 'spec'), 'holderIdentity') ?? '',
  Age.of(object),
]);
