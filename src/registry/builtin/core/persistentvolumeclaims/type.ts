import type { PersistentVolumeClaim } from '../../../../apimachinery/generated/core.js';
import { objectAt, textAt } from '../../../../apimachinery/json/json.js';
import { hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { CLASS_ANNOTATION, shortAccessModes } from '../../shared/volumes.js';
import { applyClaimDefaults, claimStatusStrategy, claimStrategy } from './strategy.js';

const claimTable = tableOf<PersistentVolumeClaim>('api/v1/persistentvolumeclaims', (object) => {
  const spec = objectAt(object, 'spec') ?? {};
  const status = objectAt(object, 'status') ?? {};
  const volume = textAt(spec, 'volumeName');
  const bound = volume !== '';
  return [
    object.metadata.name ?? '',
    hasDeletionTimestamp(object) ? 'Terminating' : textAt(status, 'phase'),
    volume,
    bound ? textAt(objectAt(status, 'capacity'), 'storage') || '0' : '',
    bound ? shortAccessModes(status['accessModes']) : '',
    object.metadata.annotations?.[CLASS_ANNOTATION] ?? textAt(spec, 'storageClassName'),
    textAt(spec, 'volumeAttributesClassName') || '<unset>',
    Age.of(object),
    textAt(spec, 'volumeMode') || '<unset>',
  ];
});

export const persistentVolumeClaims = builtinType<PersistentVolumeClaim>({
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
