import { nameIsPathSegment } from '../../../../apimachinery/validation/names.js';
import { eventFields, EVENTS_V1_FIELDS } from '../../core/events/attributes.js';
import { eventStrategy } from '../../core/events/strategy.js';
import { eventTable } from '../../core/events/table.js';
import { builtinType } from '../../shared/resource-type.js';
import { fromCoreEvent, toCoreEvent } from './conversion.js';

/** Events in the newer version, stored as core events. */
export const eventsV1 = builtinType({
  group: 'events.k8s.io',
  resource: 'events',
  kind: 'Event',
  shortNames: ['ev'],
  namespaced: true,
  uncached: true,
  validateName: nameIsPathSegment,
  strategy: eventStrategy(toCoreEvent),
  table: eventTable('apis/events.k8s.io/v1/events', toCoreEvent),
  selectableFields: EVENTS_V1_FIELDS,
  fields: eventFields,
  deletion: { defaultGarbageCollection: 'unsupported' },
  twin: { group: '', version: 'v1', toTwin: toCoreEvent, fromTwin: fromCoreEvent },
  storedAs: { resource: 'events', toStorage: toCoreEvent, fromStorage: fromCoreEvent },
});
