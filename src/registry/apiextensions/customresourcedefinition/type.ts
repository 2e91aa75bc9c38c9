import { nameIsDnsSubdomain } from '../../../apimachinery/validation/names.js';
import { builtinType } from '../../builtin/shared/resource-type.js';
import { defaultTable } from '../../generic/columns.js';
import { setCustomResourceDefinitionDefaults } from './defaults.js';
import {
  customResourceDefinitionDeletion,
  customResourceDefinitionStatusStrategy,
  customResourceDefinitionStrategy,
} from './strategy.js';

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
  table: defaultTable,
  deletion: customResourceDefinitionDeletion,
  applyDefaults: setCustomResourceDefinitionDefaults,
});
