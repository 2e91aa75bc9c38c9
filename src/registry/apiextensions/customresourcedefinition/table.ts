import { objectAt, objectsOf, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { column, CREATED_AT_COLUMN, NAME_COLUMN } from '../../generic/columns.js';
import type { TableConvertor } from '../../rest/interfaces.js';
import { isConditionTrue } from './status.js';

/** Returns the served versions, with a mark at the stored one. */
function servedVersions(crd: KubeObject): string {
  return objectsOf(objectAt(crd, 'spec')?.['versions'])
    .filter(({ served }) => served === true)
    .map((version) => `${textAt(version, 'name')}${version['storage'] === true ? '(storage)' : ''}`)
    .sort()
    .join(',');
}

/** The columns of CustomResourceDefinitions. */
export const customResourceDefinitionTable: TableConvertor = {
  columns: [
    NAME_COLUMN,
    column('Scope', 'string', 'Cluster/Namespaced'),
    column('Versions', 'string', 'Served versions'),
    CREATED_AT_COLUMN,
    column('Group', 'string', 'API group', 1),
    column('Kind', 'string', 'CustomResource kind', 1),
    column('ShortNames', 'string', 'Short names', 1),
    column('Established', 'boolean', 'Established status', 1),
  ],
  cells: (crd) => {
    const spec = objectAt(crd, 'spec');
    const names = objectAt(spec, 'names');
    return [
      crd.metadata.name ?? '',
      textAt(spec, 'scope'),
      servedVersions(crd),
      crd.metadata.creationTimestamp ?? '0001-01-01T00:00:00Z',
      textAt(spec, 'group'),
      textAt(names, 'kind'),
      stringsOf(names?.['shortNames']).join(','),
      isConditionTrue(crd, 'Established'),
    ];
  },
  timeDependent: false,
  emptyIsNull: true,
};
