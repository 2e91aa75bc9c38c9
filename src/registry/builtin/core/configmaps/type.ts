import type { ConfigMap } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { configMapStrategy } from './strategy.js';

const configMapTable = tableOf<ConfigMap>('api/v1/configmaps', (object) => [
  object.metadata.name ?? '',
  Object.keys({ ...object.data }).length + Object.keys({ ...object.binaryData }).length,
  Age.of(object),
]);

export const configMaps = builtinType<ConfigMap>({
  group: '',
  resource: 'configmaps',
  kind: 'ConfigMap',
  shortNames: ['cm'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: configMapStrategy,
  table: configMapTable,
});
