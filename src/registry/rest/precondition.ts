import { newConflict } from '../../apimachinery/meta/errors.js';
import type { DeletionStrategy } from './interfaces.js';

/** What types that check preconditions of deletions by themselves say of those that fail. */
export const ownPrecondition =
  (group: string, resource: string): Required<DeletionStrategy>['preconditionFailed'] =>
  (object, field, wanted, actual) =>
    newConflict(
      { group, resource },
      object.metadata.name ?? '',
      `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${actual}`,
    );
