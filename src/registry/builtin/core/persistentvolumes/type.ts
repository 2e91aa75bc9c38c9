import type * as core from '../../../../apimachinery/generated/core.js';
import { hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { CLASS_ANNOTATION, shortAccessModes } from '../../shared/volumes.js';
import { applyPersistentVolumeDefaults, persistentVolumeStatusStrategy, persistentVolumeStrategy } from './strategy.js';

const persistentVolumeTable = tableOf<core.PersistentVolume>('api/v1/persistentvolumes', (object) => {
  const spec: core.PersistentVolumeSpec = object.spec ?? {};
  const status: core.PersistentVolumeStatus = object.status ?? {};
  const claim = spec.claimRef;
  return [
    object.metadata.name ?? '',
    spec.capacity?.['storage'] || '0',
    shortAccessModes(spec.accessModes),
    spec.persistentVolumeReclaimPolicy ?? '',
    hasDeletionTimestamp(object) ? 'Terminating' : (status.phase ?? ''),
    claim === undefined ? '' : `${claim.namespace ?? ''}/${claim.name ?? ''}`,
    object.metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '',
    spec.volumeAttributesClassName || '<unset>',
    status.reason ?? '',
    Age.of(object),
    spec.volumeMode || '<unset>',
  ];
});

export const persistentVolumes = builtinType<core.PersistentVolume>({
  group: '',
  resource: 'persistentvolumes',
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
