import { objectAt } from '../../../../apimachinery/json/json.js';
import { textOf } from '../../../../apimachinery/json/values.js';
import { hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { Age, tableOf } from '../../shared/table.js';
import { CLASS_ANNOTATION, shortAccessModes } from '../../shared/volumes.js';

export const persistentVolumeTable = tableOf('api/v1/persistentvolumes', (object) => {
  const spec = objectAt(object, 'spec') ?? {};
  const status = objectAt(object, 'status') ?? {};
  const claim = objectAt(spec, 'claimRef');
  return [
    object.metadata.name ?? '',
    textOf(objectAt(spec, 'capacity')?.['storage']) || '0',
    shortAccessModes(spec['accessModes']),
    textOf(spec['persistentVolumeReclaimPolicy']),
    hasDeletionTimestamp(object) ? 'Terminating' : textOf(status['phase']),
    claim === undefined ? '' : `${textOf(claim['namespace'])}/${textOf(claim['name'])}`,
    object.metadata.annotations?.[CLASS_ANNOTATION] ?? textOf(spec['storageClassName']),
    textOf(spec['volumeAttributesClassName']) || '<unset>',
    textOf(status['reason']),
    Age.of(object),
    textOf(spec['volumeMode']) || '<unset>',
  ];
});
