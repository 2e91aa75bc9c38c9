import { nameIsPathSegment } from '../../../../apimachinery/validation/names.js';
import { fromCoreEvent, toCoreEvent } from './conversion.js';
import { type BuiltinDefinition, builtinType } from '../../shared/resource-type.js';
import { EVENT_FIELDS, eventFields } from './attributes.js';
import { type JsonObject, objectAt, stringAt, textAt } from '../../../../apimachinery/json/json.js';
import type { GroupVersion, KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { ResourceType } from '../../../rest/interfaces.js';
import { Age, type Cell, tableOf } from '../../shared/table.js';
import type { RequestContext } from '../../../../request/context.js';
import { validateEventCreate, validateEventUpdate } from './validation.js';

function source(event: KubeObject): string {
  const given = objectAt(event, 'source');
  const component = stringAt(given, 'component') ?? textAt(event, 'reportingComponent');
  const instance = stringAt(given, 'host') ?? textAt(event, 'reportingInstance');
  return instance === '' ? component : `${component}, ${instance}`;
}

function target(involved: JsonObject | undefined): string {
  const kind = textAt(involved, 'kind').toLowerCase();
  const name = textAt(involved, 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function row(event: KubeObject): Cell[] {
  const involved = objectAt(event, 'involvedObject');
  const series = objectAt(event, 'series');
  const first = Age.at(stringAt(event, 'firstTimestamp') ?? event['eventTime']);
  const last = stringAt(event, 'lastTimestamp');
  const seen = last === undefined ? first : Age.at(last);
  const count = series === undefined ? event['count'] : series['count'];
  return [
    series === undefined ? seen : Age.at(series['lastObservedTime']),
    textAt(event, 'type'),
    textAt(event, 'reason'),
    target(involved),
    textAt(involved, 'fieldPath'),
    source(event),
    textAt(event, 'message').trim(),
    first,
    typeof count === 'number' && (count !== 0 || series !== undefined) ? count : series === undefined ? 1 : 0,
    event.metadata.name ?? '',
  ];
}

const versionOf = ({ info }: RequestContext): GroupVersion => ({ group: info.apiGroup, version: info.apiVersion });

/**
 * Returns the type of events in a group. `toStored` converts an event to its stored form, for which the rules are written and from
 * which rows are made, if the group shows events in another form.
 */
export const eventType = (
  given: Pick<BuiltinDefinition, 'group' | 'selectableFields' | 'twin' | 'storedAs'>,
  toStored: (event: KubeObject) => KubeObject = (event) => event,
): ResourceType =>
  builtinType({
    ...given,
    resource: 'events',
    kind: 'Event',
    shortNames: ['ev'],
    namespaced: true,
    uncached: true,
    validateName: nameIsPathSegment,
    strategy: {
      allowCreateOnUpdate: true,
      allowUnconditionalUpdate: true,
      validateCreate: (context, event) => validateEventCreate(toStored(event), versionOf(context)),
      validateUpdate: (context, event, old) => validateEventUpdate(toStored(event), toStored(old), versionOf(context)),
    },
    table: tableOf(`${given.group === '' ? 'api' : `apis/${given.group}`}/v1/events`, (event) => row(toStored(event))),
    fields: eventFields,
    deletion: { defaultGarbageCollection: 'unsupported' },
  });

export const events = eventType({
  group: '',
  selectableFields: EVENT_FIELDS,
  twin: { group: 'events.k8s.io', version: 'v1', toTwin: fromCoreEvent, fromTwin: toCoreEvent },
});
