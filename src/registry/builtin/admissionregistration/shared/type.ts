import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { ResourceType } from '../../../rest/interfaces.js';
import { type BuiltinDefinition, builtinType } from '../../shared/resource-type.js';

type Definition = Omit<BuiltinDefinition, 'group' | 'categories' | 'namespaced' | 'validateName'>;

/** Returns a type of admissionregistration.k8s.io. */
export const admissionType = (definition: Definition): ResourceType =>
  builtinType({
    group: 'admissionregistration.k8s.io',
    categories: ['api-extensions'],
    namespaced: false,
    validateName: nameIsDnsSubdomain,
    ...definition,
  });

/** The versions of validating policies and their bindings. */
export const VALIDATING_VERSIONS = { otherVersions: { v1beta1: { introduced: 28, deprecated: 31, removed: 34 } } };

/** Returns the versions of mutating policies or their bindings. */
export const mutatingVersions = (kind: string): Pick<Definition, 'lifecycle' | 'otherVersions'> => ({
  lifecycle: { introduced: 36 },
  otherVersions: {
    v1beta1: { introduced: 34, deprecated: 37, removed: 40, replacement: `admissionregistration.k8s.io/v1 ${kind}` },
    v1alpha1: { introduced: 32, deprecated: 35, removed: 38 },
  },
});
