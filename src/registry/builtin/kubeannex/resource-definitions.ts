import { objectAt, objectsOf, textAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';

export const RESOURCE_DEFINITIONS = { group: 'kubeannex.io', resource: 'resourcedefinitions' };

/** Returns the names of the served versions of a ResourceDefinition or CustomResourceDefinition. */
export const servedVersions = (definition: KubeObject): string[] =>
  objectsOf(objectAt(definition, 'spec')?.['versions'])
    .filter((version) => version['served'] === true)
    .map((version) => textAt(version, 'name'));
