import { stringAt } from '../../../../apimachinery/json/json.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applySecretDefaults, secretStrategy } from './strategy.js';
import { secretTable } from './table.js';

export const secrets = builtinType({
  group: '',
  resource: 'secrets',
  singular: 'secret',
  kind: 'Secret',
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: secretStrategy,
  table: secretTable,
  applyDefaults: applySecretDefaults,
  selectableFields: ['type'],
  fields: (object) => ({ type: stringAt(object, 'type') ?? '' }),
});
