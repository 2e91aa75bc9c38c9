import type { AdmissionPlugin } from '../../../admission/interfaces.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import { viewValidation } from '../../../views/view-validation.js';
import type { Foundation } from '../plane.js';
import { undoPlugins } from '../undo.js';

/** Returns the plugins that look after Annex's own kinds, in every mode. */
export const ownPlugins = (foundation: Foundation, authorizer: Authorizer): readonly AdmissionPlugin[] => [
  viewValidation(foundation.registry, authorizer),
  ...undoPlugins(foundation),
];
