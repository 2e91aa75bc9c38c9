import type { Event } from '../../../../apimachinery/generated/core.js';

const INVOLVED = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

/** The fields of stored events that selectors may use. */
export const EVENT_FIELDS: readonly string[] = [
  ...INVOLVED.map((name) => `involvedObject.${name}`),
  'reason',
  'reportingComponent',
  'source',
  'type',
];

/** The fields of events.k8s.io/v1 that selectors may use, by their names there. */
export const EVENTS_V1_FIELDS: readonly string[] = [
  'reason',
  ...INVOLVED.map((name) => `regarding.${name}`),
  'reportingController',
  'type',
];

/** Returns the values of all these fields from a stored event: one watch cache serves the selectors of both versions. */
export function eventFields(event: Event): Record<string, string> {
  const involved = event.involvedObject;
  const reporting = event.reportingComponent ?? '';
  const component = event.source?.component ?? '';
  const fields: Record<string, string> = {
    reason: event.reason ?? '',
    reportingComponent: reporting,
    reportingController: reporting,
    source: component === '' ? reporting : component,
    type: event.type ?? '',
  };
  for (const name of INVOLVED) {
    const value = involved?.[name] ?? '';
    fields[`involvedObject.${name}`] = value;
    fields[`regarding.${name}`] = value;
  }
  return fields;
}
