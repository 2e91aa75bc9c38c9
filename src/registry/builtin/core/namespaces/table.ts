import { objectAt, stringAt } from '../../../../apimachinery/json/json.js';
import { Age, tableOf } from '../../shared/table.js';

export const namespaceTable = tableOf('api/v1/namespaces', (object) => [
  object.metadata.name ?? '',
  stringAt(objectAt(object, 'status'), 'phase') ?? '',
  Age.of(object),
]);
