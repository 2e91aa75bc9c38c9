import { nameIsPathSegment } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { EVENT_FIELDS, eventFields } from './attributes.js';
import { eventStrategy } from './strategy.js';
import { eventTable } from './table.js';

export const events = builtinType({
  group: '',
  resource: 'events',
  singular: 'event',
  kind: 'Event',
  shortNames: ['ev'],
  namespaced: true,
  validateName: nameIsPathSegment,
  strategy: eventStrategy(),
  table: eventTable('api/v1/events'),
  selectableFields: EVENT_FIELDS,
  fields: eventFields,
  deletion: { defaultGarbageCollection: 'unsupported' },
});
