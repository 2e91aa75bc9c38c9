import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
} from '../../../apimachinery/generated/apiextensions.js';
import type { GroupVersionResource } from '../../../apimachinery/meta/meta.js';
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
    prepareForCreate: (context, definition: CustomResourceDefinition) => {
      strategy.prepareForCreate?.(context, definition);
      if (definition.status !== undefined) definition.status.conditions ??= [];
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

function registered({ status: seen }: CustomResourceDefinition): string {
  const condition = seen?.conditions?.find(({ type }) => type === 'Registered');
  const status = condition?.status ?? 'Unknown';
  return status === 'False' ? (condition?.reason ?? status) : status;
}

function objects({ spec }: CustomResourceDefinition, versions: readonly string[], count: ObjectCount): string {
  const { group = '', names: { plural: resource = '' } = {} }: CustomResourceDefinitionSpec = spec ?? {};
  for (const version of versions) {
    const found = count({ group, version, resource });
    if (found !== undefined) return String(found);
  }
  return '<unknown>';
}
