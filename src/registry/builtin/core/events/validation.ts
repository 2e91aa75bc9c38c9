import type { Event, EventSeries } from '../../../../apimachinery/generated/core.js';
import { type FieldError, FieldPath, invalid, Printed, required } from '../../../../apimachinery/meta/field-error.js';
import { deepEqual, isObject, type JsonObject, type JsonValue } from '../../../../apimachinery/json/json.js';
import { goJson, type GroupVersion } from '../../../../apimachinery/meta/meta.js';
import { emptyMembersOf } from '../../../../apimachinery/scheme/empty-members.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { FIELD_IMMUTABLE, validateImmutableField } from '../../../../apimachinery/validation/object-meta.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';

const REPORTING_INSTANCE_LIMIT = 128;
const ACTION_LIMIT = 128;
const REASON_LIMIT = 128;
const NOTE_LIMIT = 1024;

const isSet = (value: JsonValue | undefined): boolean => value !== undefined && value !== null && value !== '';

/** Reports whether a time was given. The zero time counts in the request that gives it, although it is stored as null. */
const isTimeSet = (object: Event | EventSeries, field: string): boolean =>
  isSet(object[field]) || emptyMembersOf(object)?.[field] !== undefined;

const isCore = (version: GroupVersion): boolean => version.group === '' && version.version === 'v1';

const mismatch = (namespace: string): FieldError =>
  invalid(FieldPath.of('involvedObject', 'namespace'), namespace, 'does not match event.namespace');

/** Validates a text of at most `limit` bytes. */
function boundedText(
  object: Event,
  field: 'action' | 'message' | 'reason' | 'reportingInstance',
  limit: number,
  presence: 'required' | 'optional',
): FieldError[] {
  const value = object[field] ?? '';
  const errors: FieldError[] = [];
  if (presence === 'required' && value === '') errors.push(required(field));
  if (Buffer.byteLength(value) > limit) {
    errors.push(invalid(field, '', `can have at most ${String(limit)} characters`));
  }
  return errors;
}

/** Validates events of all versions. Those with an eventTime come from clients of the new API and must be complete. */
function legacyErrors(event: Event, version: GroupVersion): FieldError[] {
  const errors: FieldError[] = [];
  const namespace = event.metadata.namespace ?? '';
  const involved = event.involvedObject?.namespace ?? '';
  if (!isTimeSet(event, 'eventTime')) {
    const matches = involved === '' ? namespace === '' || namespace === 'default' : namespace === involved;
    if (!matches) errors.push(mismatch(involved));
  } else {
    if (involved === '' && namespace !== 'default' && namespace !== 'kube-system') errors.push(mismatch(involved));
    const controller = event.reportingComponent ?? '';
    const field = isCore(version) ? 'reportingComponent' : 'reportingController';
    if (controller === '') errors.push(required(field));
    errors.push(...qualifiedNameErrors(controller, field));
    errors.push(
      ...boundedText(event, 'reportingInstance', REPORTING_INSTANCE_LIMIT, 'required'),
      ...boundedText(event, 'action', ACTION_LIMIT, 'required'),
      ...boundedText(event, 'reason', REASON_LIMIT, 'required'),
      ...boundedText(event, 'message', NOTE_LIMIT, 'optional'),
    );
  }
  return errors;
}

function seriesErrors(event: Event): FieldError[] {
  const series = event.series;
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  const count = typeof series.count === 'number' ? series.count : 0;
  if (count < 2) errors.push(invalid('series.count', '', 'should be at least 2'));
  if (!isTimeSet(series, 'lastObservedTime')) errors.push(required('series.lastObservedTime'));
  return errors;
}

const unset = (field: string): FieldError => invalid(field, '', 'needs to be unset');

/** Validates an event in its stored form (core/v1), created through either version. */
export function validateEventCreate(event: Event, version: GroupVersion): FieldError[] {
  const errors = legacyErrors(event, version);
  if (isCore(version)) return errors;
  errors.push(...validateCoreMeta(event.metadata, 'Namespaced', nameIsDnsSubdomain), ...seriesErrors(event));
  if (!isTimeSet(event, 'eventTime')) errors.push(required('eventTime'));
  const type = event.type ?? '';
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalid('type', '', `has invalid value: ${type}`));
  if (isSet(event.firstTimestamp)) errors.push(unset('firstTimestamp'));
  if (isSet(event.lastTimestamp)) errors.push(unset('lastTimestamp'));
  if (event.count !== undefined && event.count !== 0) errors.push(unset('count'));
  const source = event.source;
  if (isSet(source?.component) || isSet(source?.host)) errors.push(unset('source'));
  return errors;
}

/**
 * The stored fields that an update through events.k8s.io may not change, in the order of their errors: the field, its name in
 * errors, and its zero value.
 */
const IMMUTABLE: readonly (readonly [string, string, JsonValue])[] = [
  ['involvedObject', 'involvedObject', {}],
  ['reason', 'reason', ''],
  ['message', 'message', ''],
  ['source', 'source', {}],
  ['firstTimestamp', 'firstTimestamp', null],
  ['lastTimestamp', 'lastTimestamp', null],
  ['count', 'count', 0],
  ['reason', 'reason', ''],
  ['type', 'type', ''],
  ['eventTime', 'eventTime', null],
  ['action', 'action', ''],
  ['related', 'related', null],
  ['reportingComponent', 'reportingController', ''],
  ['reportingInstance', 'reportingInstance', ''],
];

const REFERENCE = ['Kind', 'Namespace', 'Name', 'UID', 'APIVersion', 'ResourceVersion', 'FieldPath'];

/** The structures that errors print with Kubernetes' internal field names. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  involvedObject: REFERENCE,
  related: REFERENCE,
  source: ['Component', 'Host'],
};

function print(value: JsonObject, names: readonly string[]): string {
  const members = names.map((name) => `"${name}":${goJson(value[jsonName(name)] ?? '')}`);
  return `{${members.join(',')}}`;
}

const jsonName = (name: string): string =>
  name === 'UID' ? 'uid' : name === 'APIVersion' ? 'apiVersion' : name.charAt(0).toLowerCase() + name.slice(1);

export function validateEventUpdate(event: Event, old: Event, version: GroupVersion): FieldError[] {
  const errors = legacyErrors(event, version);
  if (isCore(version)) return errors;
  errors.push(...validateCoreMetaUpdate(event.metadata, old.metadata));
  if (!deepEqual(event.series ?? null, old.series ?? null)) errors.push(...seriesErrors(event));
  for (const [field, shown, zero] of IMMUTABLE) {
    const value = event[field] ?? zero;
    const before = old[field] ?? zero;
    if (isObject(value) && isObject(before) && deepEqual(value, before)) continue;
    const names = PRINTED[shown];
    if (isObject(value) && names !== undefined) {
      errors.push(invalid(shown, new Printed(print(value, names)), FIELD_IMMUTABLE));
    } else errors.push(...validateImmutableField(value, before, FieldPath.of(shown)));
  }
  return errors;
}
