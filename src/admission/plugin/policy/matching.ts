import { ApiError } from '../../../apimachinery/meta/errors.js';
import { match } from '../../matching/match.js';
import type { MatchCriteria } from '../../matching/criteria.js';
import type { AdmissionAttributes, VersionedResource } from '../../interfaces.js';
import type { NamespaceSource } from '../../sources.js';
import { type MaybePromise, rescue } from '../../../util/maybe-promise.js';
import { ConfigurationError } from './params.js';

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
