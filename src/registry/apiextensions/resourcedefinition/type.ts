import { conditionsOf } from '../../../apimachinery/meta/conditions.js';
import { objectAt, stringAt, textAt } from '../../../apimachinery/json/json.js';
import type { GroupVersionResource, KubeObject } from '../../../apimachinery/meta/meta.js';
import { customResourceDefinitions } from '../customresourcedefinition/type.js';
import { RESOURCE_DEFINITIONS, servedVersions } from '../../builtin/kubeannex/resource-definitions.js';
import { AGE_COLUMN, column, NAME_COLUMN, tableWithAge } from '../../generic/columns.js';
import type { ResourceType, Strategy, TableConvertor } from '../../rest/interfaces.js';

/** Returns the number of objects of a type, or undefined if it is not served in the version. */
export type ObjectCount = (type: GroupVersionResource) => number | undefined;

/**
 * Returns the type ResourceDefinition of kubeannex.io/v1. It declares a type that Annex serves inside a cluster, where the cluster
 * itself serves CustomResourceDefinition. Its spec, its status and its processing are those of a CustomResourceDefinition. `count`
 * returns the number of objects of a type.
 */
export function resourceDefinitionType(count: ObjectCount): ResourceType {
  const { strategy, subresources, versions } = customResourceDefinitions;
  return {
    ...customResourceDefinitions,
    strategy: forResourceDefinition(strategy),
    subresources: Object.fromEntries(
      Object.entries(subresources).map(([name, subresource]) => [name, forResourceDefinition(subresource)]),
    ),
    group: RESOURCE_DEFINITIONS.group,
    resource: RESOURCE_DEFINITIONS.resource,
    singular: 'resourcedefinition',
    kind: 'ResourceDefinition',
    listKind: 'ResourceDefinitionList',
    registryPath: `${RESOURCE_DEFINITIONS.group}/${RESOURCE_DEFINITIONS.resource}`,
    shortNames: ['rd'],
    categories: [],
    versions: versions.map((version) => ({ ...version, table: tableOf(count) })),
    noProtobuf: true,
  };
}

/**
 * Makes the reset fields of CustomResourceDefinition apply to ResourceDefinition, whose conditions are never null: `kubectl wait` fails on a
 * null.
 */
function forResourceDefinition(strategy: Strategy): Strategy {
  return {
    ...strategy,
    resetFields: { 'kubeannex.io/v1': Object.values(strategy.resetFields ?? {}).flat() },
    prepareForCreate: (context, definition) => {
      strategy.prepareForCreate?.(context, definition);
      const status = objectAt(definition, 'status');
      if (status !== undefined) status['conditions'] ??= [];
    },
  };
}

const COLUMNS = [
  NAME_COLUMN,
  column('Registered', 'string', 'Whether the cluster sends requests for all versions to Annex, or the reason if not.'),
  column('Versions', 'string', 'The served versions.'),
  column('Objects', 'string', 'The number of objects of the type.'),
  AGE_COLUMN,
];

function tableOf(count: ObjectCount): TableConvertor {
  const table = tableWithAge(COLUMNS, (definition) => {
    const versions = servedVersions(definition);
    return [
      definition.metadata.name ?? '',
      registered(definition),
      versions.join(','),
      objects(definition, versions, count),
    ];
  });
  // Rows are never cached: the count changes independently of the definition.
  return {
    columns: COLUMNS,
    cells: (definition, now) => table.cells(definition, now),
    timeDependent: true,
    mainThreadOnly: true,
  };
}

function registered(definition: KubeObject): string {
  const conditions = conditionsOf(definition);
  const condition = conditions.find(({ type }) => type === 'Registered');
  const status = stringAt(condition, 'status') ?? 'Unknown';
  return status === 'False' ? (stringAt(condition, 'reason') ?? status) : status;
}

function objects(definition: KubeObject, versions: readonly string[], count: ObjectCount): string {
  const spec = objectAt(definition, 'spec');
  const group = textAt(spec, 'group');
  const resource = textAt(objectAt(spec, 'names'), 'plural');
  for (const version of versions) {
    const found = count({ group, version, resource });
    if (found !== undefined) return String(found);
  }
  return '<unknown>';
}
