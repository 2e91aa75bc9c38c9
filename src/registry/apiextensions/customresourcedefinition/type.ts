import { nameIsDnsSubdomain } from '../../../apimachinery/validation/names.js';
import { defaultTable } from '../../rest/columns.js';
import { objectAttributes } from '../../rest/attributes.js';
import type { ResourceType } from '../../rest/interfaces.js';
import { setCustomResourceDefinitionDefaults } from './defaults.js';
import type { RuleChecks } from './interfaces.js';
import {
  customResourceDefinitionDeletion,
  customResourceDefinitionStatusStrategy,
  customResourceDefinitionStrategy,
} from './strategy.js';

/** CustomResourceDefinition of apiextensions.k8s.io/v1. */
export function customResourceDefinitionType(checks: RuleChecks): ResourceType {
  return {
    group: 'apiextensions.k8s.io',
    resource: 'customresourcedefinitions',
    singular: 'customresourcedefinition',
    kind: 'CustomResourceDefinition',
    listKind: 'CustomResourceDefinitionList',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    namespaced: false,
    versions: [{ name: 'v1', served: true, deprecated: false, table: defaultTable, selectableFields: [] }],
    storageVersion: 'v1',
    custom: false,
    attributes: (object) => objectAttributes(object, 'Cluster'),
    validateName: nameIsDnsSubdomain,
    strategy: customResourceDefinitionStrategy(checks),
    subresources: { status: customResourceDefinitionStatusStrategy },
    deletion: customResourceDefinitionDeletion,
    applyDefaults: setCustomResourceDefinitionDefaults,
  };
}
