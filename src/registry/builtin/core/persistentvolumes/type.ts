import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyPersistentVolumeDefaults, persistentVolumeStatusStrategy, persistentVolumeStrategy } from './strategy.js';
import { persistentVolumeTable } from './table.js';

export const persistentVolumes = builtinType({
  group: '',
  resource: 'persistentvolumes',
  singular: 'persistentvolume',
  kind: 'PersistentVolume',
  shortNames: ['pv'],
  namespaced: false,
  validateName: nameIsDnsSubdomain,
  strategy: persistentVolumeStrategy,
  subresources: { status: persistentVolumeStatusStrategy },
  table: persistentVolumeTable,
  applyDefaults: applyPersistentVolumeDefaults,
  returnsDeletedObject: true,
});
