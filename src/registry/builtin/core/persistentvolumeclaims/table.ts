import { objectAt } from '../../../../apimachinery/json/json.js';
import { textOf } from '../../../../apimachinery/json/values.js';
import { hasDeletionTimestamp } from '../../../../apimachinery/meta/meta.js';
import { Age, tableOf } from '../../shared/table.js';
import { CLASS_ANNOTATION, shortAccessModes } from '../../shared/volumes.js';

export const claimTable = tableOf('api/v1/persistentvolumeclaims', (object) => {
  const spec = objectAt(object, 'spec') ?? {};
  const status = objectAt(object, 'status') ?? {};
  const volume = textOf(spec['volumeName']);
  const bound = volume !== '';
  return [
    object.metadata.name ?? '',
    hasDeletionTimestamp(object) ? 'Terminating' : textOf(status['phase']),
    volume,
    bound ? textOf(objectAt(status, 'capacity')?.['storage']) || '0' : '',
    bound ? shortAccessModes(status['accessModes']) : '',
    object.metadata.annotations?.[CLASS_ANNOTATION] ?? textOf(spec['storageClassName']),
    textOf(spec['volumeAttributesClassName']) || '<unset>',
    Age.of(object),
    textOf(spec['volumeMode']) || '<unset>',
  ];
});
