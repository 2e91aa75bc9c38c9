import { ApiError } from '../../../apimachinery/meta/errors.js';
import { match, VIRTUAL_RESOURCES } from '../../matching/match.js';
import type { MatchCriteria } from '../../matching/criteria.js';
import type { AdmissionAttributes, VersionedResource } from '../../interfaces.js';
import type { NamespaceSource } from '../../sources.js';
import { type MaybePromise, rescue } from '../../../util/maybe-promise.js';
import { ConfigurationError } from './params.js';

/** Resources that policies never match: their own kinds, because a policy could lock them, and authentication and authorization reviews. */
const EXCLUDED_RESOURCES = new Set([
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
  'admissionregistration.k8s.io/mutatingadmissionpolicies',
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings',
  ...VIRTUAL_RESOURCES,
]);

export const isExcluded = ({ resource }: AdmissionAttributes): boolean =>
  EXCLUDED_RESOURCES.has(`${resource.group}/${resource.resource}`);

/**
 * Returns the resource and kind under which the criteria match. A matching error is a configuration error of the
 * policy. Throws ConfigurationError.
 */
export function matchPolicy(
  criteria: MatchCriteria | undefined,
  attributes: AdmissionAttributes,
  namespaces: NamespaceSource,
): MaybePromise<VersionedResource | undefined> {
  if (criteria === undefined) {
    throw new ConfigurationError('policy contained no match constraints, a required field');
  }
  return rescue(
    () => match(criteria, attributes, namespaces),
    (error) => {
      if (error instanceof ApiError) throw new ConfigurationError(error.message);
      throw error;
    },
  );
}
