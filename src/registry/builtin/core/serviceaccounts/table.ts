import { Age, tableOf } from '../../shared/table.js';

export const serviceAccountTable = tableOf('api/v1/serviceaccounts', (object) => [
  object.metadata.name ?? '',
  Age.of(object),
]);
