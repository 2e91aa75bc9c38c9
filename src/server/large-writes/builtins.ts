import { customResourceDefinitionType } from '../../registry/apiextensions/customresourcedefinition/type.js';
import { builtinResourceTypes } from '../../registry/core/index.js';
import { resourceDefinitionType } from '../../registry/kubeannex/resource-definitions.js';
import type { ResourceType } from '../../registry/rest/interfaces.js';

/** Built-in types whose writes depend on nothing but the request and the store, so that any thread can do them. */
export function portableBuiltins(): ResourceType[] {
  const types = [...builtinResourceTypes(), customResourceDefinitionType({}), resourceDefinitionType()];
  // Tokens of service accounts are another matter; types that show another's objects have its attributes.
  return types.filter((type) => type.resource !== 'serviceaccounts' && type.storedAs === undefined);
}
