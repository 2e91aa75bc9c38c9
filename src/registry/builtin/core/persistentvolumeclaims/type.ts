import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyClaimDefaults, claimStatusStrategy, claimStrategy } from './strategy.js';
import { claimTable } from './table.js';

export const persistentVolumeClaims = builtinType({
  group: '',
  resource: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
  kind: 'PersistentVolumeClaim',
  shortNames: ['pvc'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: claimStrategy,
  subresources: { status: claimStatusStrategy },
  table: claimTable,
  applyDefaults: applyClaimDefaults,
  returnsDeletedObject: true,
});
