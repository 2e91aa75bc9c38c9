import { EVENTS_V1_FIELDS } from '../../core/events/attributes.js';
import { eventType } from '../../core/events/type.js';
import { fromCoreEvent, toCoreEvent } from '../../core/events/conversion.js';

/** Events in the newer version, stored as core events. */
export const eventsV1 = eventType(
  {
    group: 'events.k8s.io',
    selectableFields: EVENTS_V1_FIELDS,
    twin: { group: '', version: 'v1', toTwin: toCoreEvent, fromTwin: fromCoreEvent },
    storedAs: { resource: 'events', toStorage: toCoreEvent, fromStorage: fromCoreEvent },
  },
  toCoreEvent,
);
