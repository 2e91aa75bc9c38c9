import type { PersistentVolume } from '../../../../apimachinery/generated/core.js';
import { objectAt, textAt } from '../../../../apimachinery/json/json.js';
import { hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { CLASS_ANNOTATION, shortAccessModes } from '../../shared/volumes.js';
import { applyPersistentVolumeDefaults, persistentVolumeStatusStrategy, persistentVolumeStrategy } from './strategy.js';

const persistentVolumeTable = tableOf<PersistentVolume>('api/v1/persistentvolumes', (object) => {
  const spec = objectAt(object, 'spec') ?? {};
  const status = objectAt(object, 'status') ?? {};
  const claim = objectAt(spec, 'claimRef');
  return [
    object.metadata.name ?? '',
    textAt(objectAt(spec, 'capacity'), 'storage') || '0',
    shortAccessModes(spec['accessModes']),
    textAt(spec, 'persistentVolumeReclaimPolicy'),
    hasDeletionTimestamp(object) ? 'Terminating' : textAt(status, 'phase'),
    claim === undefined ? '' : `${textAt(claim, 'namespace')}/${textAt(claim, 'name')}`,
    object.metadata.annotations?.[CLASS_ANNOTATION] ?? textAt(spec, 'storageClassName'),
    textAt(spec, 'volumeAttributesClassName') || '<unset>',
    textAt(status, 'reason'),
    Age.of(object),
    textAt(spec, 'volumeMode') || '<unset>',
  ];
});

export const persistentVolumes = builtinType<PersistentVolume>({
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
