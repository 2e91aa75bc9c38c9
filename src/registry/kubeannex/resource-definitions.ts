import { customResourceDefinitionType } from '../apiextensions/customresourcedefinition/type.js';
import type { ResourceType } from '../rest/interfaces.js';

export const RESOURCE_DEFINITIONS = { group: 'kubeannex.io', resource: 'resourcedefinitions' };

/**
 * ResourceDefinition of kubeannex.io/v1: declares a type that Annex serves inside a cluster, where CustomResourceDefinition is
 * the cluster's own. Its spec and status are those of a CustomResourceDefinition, and so is all that is done with it.
 */
export function resourceDefinitionType(): ResourceType {
  return {
    ...customResourceDefinitionType({}),
    group: RESOURCE_DEFINITIONS.group,
    resource: RESOURCE_DEFINITIONS.resource,
    singular: 'resourcedefinition',
    kind: 'ResourceDefinition',
    listKind: 'ResourceDefinitionList',
    shortNames: ['rd'],
    categories: [],
  };
}
