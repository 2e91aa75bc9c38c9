import { stringAt } from '../../../../apimachinery/json/json.js';
import { entriesOf } from '../configmaps/strategy.js';
import { Age, tableOf } from '../../shared/table.js';

export const secretTable = tableOf('api/v1/secrets', (object) => [
  object.metadata.name ?? '',
  stringAt(object, 'type') ?? '',
  entriesOf(object, 'data').length,
  Age.of(object),
]);
