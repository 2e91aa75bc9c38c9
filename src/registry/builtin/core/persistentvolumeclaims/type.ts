import type * as core from '../../../../apimachinery/generated/core.js';
import { hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { CLASS_ANNOTATION, shortAccessModes } from '../../shared/volumes.js';
import { applyClaimDefaults, claimStatusStrategy, claimStrategy } from './strategy.js';

const claimTable = tableOf<core.PersistentVolumeClaim>('api/v1/persistentvolumeclaims', (object) => {
  const spec: core.PersistentVolumeClaimSpec = object.spec ?? {};
  const status: core.PersistentVolumeClaimStatus = object.status ?? {};
  const volume = spec.volumeName ?? '';
  const bound = volume !== '';
  return [
    object.metadata.name ?? '',
    hasDeletionTimestamp(object) ? 'Terminating' : (status.phase ?? ''),
    volume,
    bound ? status.capacity?.['storage'] || '0' : '',
    bound ? shortAccessModes(status.accessModes) : '',
    object.metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '',
    spec.volumeAttributesClassName || '<unset>',
    Age.of(object),
    spec.volumeMode || '<unset>',
  ];
});

export const persistentVolumeClaims = builtinType<core.PersistentVolumeClaim>({
  group: '',
  resource: 'persistentvolumeclaims',
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
