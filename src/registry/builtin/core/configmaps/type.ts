import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { configMapStrategy } from './strategy.js';
import { configMapTable } from './table.js';

export const configMaps = builtinType({
  group: '',
  resource: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  shortNames: ['cm'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: configMapStrategy,
  table: configMapTable,
});
