import type { JsonObject, JsonValue } from '../../../apimachinery/json/json.js';
import { type Convert, type Notes, Refusal, type Row } from '../conversion.js';
import { isEmpty, isUnset, dropOtherFields, objectIn, rename, take, textIn } from '../fields.js';

const V1 = 'events.k8s.io/v1';
const TYPES = ['Normal', 'Warning'];

/** Field names of core/v1 and their equivalents in events.k8s.io. */
const CORE_NAMES: readonly (readonly [core: string, name: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];

const REQUIRED = ['action', 'reason', 'reportingController', 'reportingInstance', 'eventTime'];

const event: Convert = (object, notes) => {
  for (const [core, name] of CORE_NAMES) rename(object, core, name, '');
  const source = objectIn(object, 'deprecatedSource', '') ?? {};
  take(object, 'deprecatedSource');
  inherit(object, 'reportingController', source, 'component', notes);
  inherit(object, 'reportingInstance', source, 'host', notes);
  series(object, notes);
  for (const field of REQUIRED) {
    if (isEmpty(object[field])) throw new Refusal(`${field} is missing, which ${V1} requires`);
  }
  const type = textIn(object, 'type', '');
  if (type === undefined || !TYPES.includes(type)) {
    throw new Refusal(`type ${type === undefined ? 'is missing' : `is ${type}`}: ${V1} allows ${TYPES.join(' and ')}`);
  }
};

/** Moves the value of a deprecated field to the new field if that is unset. */
function inherit(object: JsonObject, field: string, source: JsonObject, old: string, notes: Notes): void {
  const value = take(source, old);
  if (isEmpty(value)) return;
  if (isEmpty(object[field])) object[field] = value;
  else if (object[field] !== value) notes.lose(`deprecatedSource.${old} cannot be set and differs from ${field}`);
}

function series(object: JsonObject, notes: Notes): void {
  const first = take(object, 'deprecatedFirstTimestamp');
  const last = take(object, 'deprecatedLastTimestamp');
  const count = take(object, 'deprecatedCount');
  if (isUnset(object['eventTime'])) {
    const when = first ?? last;
    if (when !== undefined) object['eventTime'] = micro(when, 'deprecatedFirstTimestamp');
  } else if (first !== undefined && !sameTime(first, object['eventTime']))
    notes.lose('deprecatedFirstTimestamp cannot be set and differs from eventTime');
  const known = objectIn(object, 'series', '');
  if (known === undefined) {
    take(object, 'series');
    const times = typeof count === 'number' ? count : 1;
    if (times > 1) object['series'] = { count: times, lastObservedTime: lastOf(object, last) };
    else if (last !== undefined && !sameTime(last, object['eventTime']))
      notes.lose('deprecatedLastTimestamp has no equivalent for an event that happened once');
    return;
  }
  const state = take(known, 'state');
  if (!isEmpty(state) && state !== 'Ongoing') notes.warn('series.state is dropped: v1 does not have it');
  dropOtherFields(known, ['count', 'lastObservedTime'], 'series', V1, notes);
  if (isUnset(known['count']) && count !== undefined) known['count'] = count;
  else if (count !== undefined && count !== 0 && count !== known['count'])
    notes.lose('deprecatedCount cannot be set and differs from series.count');
  if (isUnset(known['lastObservedTime']) && last !== undefined) known['lastObservedTime'] = lastOf(object, last);
  else if (last !== undefined && !sameTime(last, known['lastObservedTime']))
    notes.lose('deprecatedLastTimestamp cannot be set and differs from series.lastObservedTime');
  // A series begins with the second occurrence; v1 rejects a series of a single event.
  if (typeof known['count'] === 'number' && known['count'] < 2) {
    if (known['count'] === 1) notes.warn('series is dropped: v1 requires a count of at least 2');
    take(object, 'series');
  }
}

const lastOf = (object: JsonObject, last: JsonValue | undefined): JsonValue =>
  last === undefined ? (object['eventTime'] ?? null) : micro(last, 'deprecatedLastTimestamp');

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Formats a time as a MicroTime, with six fractional digits. */
function micro(time: JsonValue, path: string): string {
  const [, seconds, fraction = '', zone] = (typeof time === 'string' ? TIME.exec(time) : null) ?? [];
  if (seconds === undefined || zone === undefined) throw new Refusal(`${path} is not a time`);
  return `${seconds}.${fraction.padEnd(6, '0').slice(0, 6)}${zone}`;
}

/** Compares seconds: the old fields have no fractions. */
function sameTime(a: JsonValue, b: JsonValue | undefined): boolean {
  if (typeof a !== 'string' || typeof b !== 'string') return false;
  return Math.floor(Date.parse(a) / 1000) === Math.floor(Date.parse(b) / 1000);
}

export const events: readonly Row[] = [
  { from: ['events.k8s.io/v1beta1'], kinds: ['Event'], to: V1, convert: event },
  { from: ['v1'], kinds: ['Event'], to: V1, convert: event, onRequest: true },
];
