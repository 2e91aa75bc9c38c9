import type { GroupVersionKind } from '../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../apimachinery/validation/names.js';
import { tableConvertorFor } from '../../schema/columns/table.js';
import { compareVersions } from '../../apimachinery/meta/version-order.js';
import type { ResourceType, ResourceVersion } from '../rest/interfaces.js';
import { customAttributes } from './attributes.js';
import type { CompiledVersion } from './compiled.js';
import type { Definition, DefinitionVersion } from './definition.js';
import { type CustomStrategyOptions, customResourceStrategy } from './strategy.js';

/** Returns the type that a definition describes. */
export function resourceType(definition: Definition, compiled: ReadonlyMap<string, CompiledVersion>): ResourceType {
  const { names } = definition;
  const versions = [...compiled.values()].map(({ version }): ResourceVersion => ({
    name: version.name,
    served: version.served,
    deprecated: version.deprecated,
    deprecationWarning: version.deprecationWarning ?? deprecationWarning(definition, version),
    table: tableConvertorFor(version.columns),
    selectableFields: version.selectableFields.map((path) => path.replace(/^\./, '')),
  }));
  const storage = compiled.get(definition.storageVersion) ?? [...compiled.values()][0];
  if (storage === undefined) throw new Error(`definition ${definition.name} has no versions`);
  return {
    group: definition.group,
    resource: names.plural,
    singular: names.singular,
    kind: names.kind,
    listKind: names.listKind,
    shortNames: names.shortNames,
    categories: names.categories,
    namespaced: definition.namespaced,
    versions,
    storageVersion: definition.storageVersion,
    custom: true,
    noProtobuf: true,
    attributes: customAttributes(definition),
    validateName: nameIsDnsSubdomain,
    strategy: customResourceStrategy(strategyOptions(definition, storage)),
    subresources: {},
    deletion: {},
  };
}

/** Returns the warning for a deprecated version without a text of its own. It names the best newer version that is not deprecated, if any. */
function deprecationWarning(definition: Definition, version: DefinitionVersion): string {
  const { group, names } = definition;
  const [better] = definition.versions
    .filter(({ name, served, deprecated }) => served && !deprecated && compareVersions(name, version.name) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const instead = better === undefined ? '' : `; use ${group}/${better} ${names.kind}`;
  return `${group}/${version.name} ${names.kind} is deprecated${instead}`;
}

export function strategyOptions(definition: Definition, compiled: CompiledVersion): CustomStrategyOptions {
  return {
    gvk: gvkOf(definition, compiled.version),
    namespaced: definition.namespaced,
    schema: compiled.schema,
    hasStatus: compiled.version.hasStatus,
  };
}

export const gvkOf = (definition: Definition, version: DefinitionVersion): GroupVersionKind => ({
  group: definition.group,
  version: version.name,
  kind: definition.names.kind,
});
