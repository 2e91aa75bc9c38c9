import { newConflict } from '../../apimachinery/meta/errors.js';
import type { DeletionStrategy } from '../rest/interfaces.js';

/** Returns the error for a failed precondition, for types that check the preconditions of deletions themselves. */
export const ownPrecondition =
  (group: string, resource: string, prefix = 'Precondition failed'): Required<DeletionStrategy>['preconditionFailed'] =>
  (object, field, wanted, actual) =>
    newConflict(
      { group, resource },
      object.metadata.name ?? '',
      `${prefix}: ${field} in precondition: ${wanted}, ${field} in object meta: ${actual}`,
    );
