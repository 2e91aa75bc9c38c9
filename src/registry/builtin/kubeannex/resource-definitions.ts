import { customResourceDefinitionType } from '../../apiextensions/customresourcedefinition/type.js';
import type { ResourceType, Strategy } from '../../rest/interfaces.js';

export const RESOURCE_DEFINITIONS = { group: 'kubeannex.io', resource: 'resourcedefinitions' };

/**
 * ResourceDefinition of kubeannex.io/v1: declares a type that Annex serves inside a cluster, where CustomResourceDefinition is
 * the cluster's own. Its spec and status are those of a CustomResourceDefinition, and so is all that is done with it.
 */
export function resourceDefinitionType(): ResourceType {
  const type = customResourceDefinitionType({});
  const { subresources } = type;
  return {
    ...type,
    strategy: ofOurs(type.strategy),
    subresources: Object.fromEntries(Object.entries(subresources).map(([name, strategy]) => [name, ofOurs(strategy)])),
    group: RESOURCE_DEFINITIONS.group,
    resource: RESOURCE_DEFINITIONS.resource,
    singular: 'resourcedefinition',
    kind: 'ResourceDefinition',
    listKind: 'ResourceDefinitionList',
    shortNames: ['rd'],
    categories: [],
    noProtobuf: true,
  };
}

/** What is said of the fields of one kind holds for the other's. */
function ofOurs(strategy: Strategy): Strategy {
  return { ...strategy, resetFields: { 'kubeannex.io/v1': Object.values(strategy.resetFields ?? {}).flat() } };
}
