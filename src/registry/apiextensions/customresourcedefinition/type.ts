import { isConditionTrue } from '../../../apimachinery/meta/conditions.js';
import { nameIsDnsSubdomain } from '../../../apimachinery/validation/names.js';
import { builtinType } from '../../builtin/shared/resource-type.js';
import { setCustomResourceDefinitionDefaults } from './defaults.js';
import {
  customResourceDefinitionDeletion,
  customResourceDefinitionStatusStrategy,
  customResourceDefinitionStrategy,
} from './strategy.js';
import { objectAt, objectsOf, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { column, CREATED_AT_COLUMN, NAME_COLUMN } from '../../generic/columns.js';
import type { TableConvertor } from '../../rest/interfaces.js';

/** Returns the served versions, with a mark at the stored one. */
function servedVersions(crd: KubeObject): string {
  return objectsOf(objectAt(crd, 'spec')?.['versions'])
    .filter(({ served }) => served === true)
    .map((version) => `${textAt(version, 'name')}${version['storage'] === true ? '(storage)' : ''}`)
    .sort()
    .join(',');
}

/** The columns of CustomResourceDefinitions. */
const customResourceDefinitionTable: TableConvertor = {
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

/** CustomResourceDefinition of apiextensions.k8s.io/v1. */
export const customResourceDefinitions = builtinType({
  group: 'apiextensions.k8s.io',
  resource: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  registryPath: 'apiextensions.k8s.io/customresourcedefinitions',
  validateName: nameIsDnsSubdomain,
  strategy: customResourceDefinitionStrategy,
  subresources: { status: customResourceDefinitionStatusStrategy },
  table: customResourceDefinitionTable,
  deletion: customResourceDefinitionDeletion,
  applyDefaults: setCustomResourceDefinitionDefaults,
});
