import { type JsonObject, objectAt, stringAt, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { TableConvertor } from '../../../rest/interfaces.js';
import { Age, type Cell, tableOf } from '../../shared/table.js';

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

/** `toStored` converts an event to its stored form, from which rows are made, if a version shows events in another form. */
export const eventTable = (
  path: string,
  toStored: (event: KubeObject) => KubeObject = (event) => event,
): TableConvertor => tableOf(path, (event) => row(toStored(event)));
