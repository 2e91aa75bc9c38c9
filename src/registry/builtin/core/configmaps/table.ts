import { Age, tableOf } from '../../shared/table.js';
import { entriesOf } from './strategy.js';

export const configMapTable = tableOf('api/v1/configmaps', (object) => [
  object.metadata.name ?? '',
  entriesOf(object, 'data').length + entriesOf(object, 'binaryData').length,
  Age.of(object),
]);
