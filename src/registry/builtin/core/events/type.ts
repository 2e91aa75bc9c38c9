import { nameIsPathSegment } from '../../../../apimachinery/validation/names.js';
import { fromCoreEvent, toCoreEvent } from '../../events/events/conversion.js';
import { builtinType } from '../../shared/resource-type.js';
import { EVENT_FIELDS, eventFields } from './attributes.js';
import { eventStrategy } from './strategy.js';
import { eventTable } from './table.js';

export const events = builtinType({
  group: '',
  resource: 'events',
  kind: 'Event',
  shortNames: ['ev'],
  namespaced: true,
  uncached: true,
  validateName: nameIsPathSegment,
  strategy: eventStrategy(),
  table: eventTable('api/v1/events'),
  selectableFields: EVENT_FIELDS,
  fields: eventFields,
  twin: { group: 'events.k8s.io', version: 'v1', toTwin: fromCoreEvent, fromTwin: toCoreEvent },
  deletion: { defaultGarbageCollection: 'unsupported' },
});
