import type { CustomResourceDefinition } from '../../../apimachinery/generated/apiextensions.js';

export const RESOURCE_DEFINITIONS = { group: 'kubeannex.io', resource: 'resourcedefinitions' };

/** Returns the names of the served versions of a ResourceDefinition or CustomResourceDefinition. */
export const servedVersions = ({ spec }: CustomResourceDefinition): string[] =>
  (spec?.versions ?? []).filter(({ served }) => served).map(({ name = '' }) => name);
