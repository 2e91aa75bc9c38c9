import type { AdmissionPlugin } from '../admission/interfaces.js';
import { newTooManyRequests } from '../apimachinery/meta/errors.js';
import type { AdoptedDefinitions } from '../apimachinery/meta/adopted-definitions.js';

const RETRY_SECONDS = 1;

/** Refuses writes to a group that moves into Annex, until it has moved; clients try again by themselves. */
export function adoptionGate(adopted: Pick<AdoptedDefinitions, 'takesWrites'>): AdmissionPlugin {
  return {
    name: 'AdoptionGate',
    handles: (operation) => operation !== 'CONNECT',
    readsObjects: () => false,
    admit({ resource }) {
      if (adopted.takesWrites(resource)) return;
      throw newTooManyRequests(
        `${resource.group} is being moved into Annex, which takes writes in a moment: try again`,
        RETRY_SECONDS,
      );
    },
  };
}
