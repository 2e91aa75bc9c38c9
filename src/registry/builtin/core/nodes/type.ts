import { objectAt } from '../../../../apimachinery/json/json.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyNodeDefaults, nodeStatusStrategy, nodeStrategy } from './strategy.js';
import { nodeTable } from './table.js';

export const nodes = builtinType({
  group: '',
  resource: 'nodes',
  kind: 'Node',
  shortNames: ['no'],
  namespaced: false,
  registryPath: 'minions',
  validateName: nameIsDnsSubdomain,
  strategy: nodeStrategy,
  subresources: { status: nodeStatusStrategy },
  table: nodeTable,
  applyDefaults: applyNodeDefaults,
  selectableFields: ['spec.unschedulable'],
  fields: (node) => ({ 'spec.unschedulable': String(objectAt(node, 'spec')?.['unschedulable'] === true) }),
});
