import type { Secret } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { applySecretDefaults, secretStrategy } from './strategy.js';

const secretTable = tableOf<Secret>('api/v1/secrets', (object) => [
  object.metadata.name ?? '',
  object.type ?? '',
  Object.keys(object.data ?? {}).length,
  Age.of(object),
]);

export const secrets = builtinType<Secret>({
  group: '',
  resource: 'secrets',
  kind: 'Secret',
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: secretStrategy,
  table: secretTable,
  applyDefaults: applySecretDefaults,
  selectableFields: ['type'],
  fields: (object) => ({ type: object.type ?? '' }),
});
