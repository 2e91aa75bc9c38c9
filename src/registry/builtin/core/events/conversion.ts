import { FACTS, objectAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';

/** The fields of events.k8s.io/v1, with their names in core/v1, in which events are stored. */
const NAMES: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];
const TO_CORE = new Map(NAMES);
const FROM_CORE = new Map(NAMES.map(([event, core]) => [core, event]));

/** The fields that the encoder of core/v1 always writes: objects, times and texts, with different empty values. */
const ALWAYS_CORE: readonly string[] = ['involvedObject', 'source'];
const ALWAYS_CORE_NULL: readonly string[] = ['firstTimestamp', 'lastTimestamp', 'eventTime'];
const ALWAYS_CORE_TEXT: readonly string[] = ['reportingComponent', 'reportingInstance'];

function rename(event: KubeObject, names: ReadonlyMap<string, string>, apiVersion: string): KubeObject {
  const out: KubeObject = { metadata: event.metadata };
  for (const key in event) out[names.get(key) ?? key] = event[key];
  if (event[FACTS] !== undefined) out[FACTS] = event[FACTS];
  out.apiVersion = apiVersion;
  return out;
}

/** Converts an event of events.k8s.io/v1 to core/v1. The two share their parts. */
export function toCoreEvent(event: KubeObject): KubeObject {
  const out = rename(event, TO_CORE, 'v1');
  for (const field of ALWAYS_CORE) out[field] ??= {};
  for (const field of ALWAYS_CORE_NULL) out[field] ??= null;
  for (const field of ALWAYS_CORE_TEXT) out[field] ??= '';
  const { count, ...series } = objectAt(event, 'series') ?? {};
  if (count === 0) out['series'] = series;
  return out;
}

/** Converts an event of core/v1 to events.k8s.io/v1. The two share their parts. */
export function fromCoreEvent(event: KubeObject): KubeObject {
  const out = rename(event, FROM_CORE, 'events.k8s.io/v1');
  out['regarding'] ??= {};
  out['deprecatedSource'] ??= {};
  out['deprecatedFirstTimestamp'] ??= null;
  out['deprecatedLastTimestamp'] ??= null;
  out['eventTime'] ??= null;
  for (const field of ['reportingController', 'reportingInstance']) if (out[field] === '') delete out[field];
  const series = objectAt(event, 'series');
  if (series !== undefined) out['series'] = { count: 0, ...series };
  return out;
}
