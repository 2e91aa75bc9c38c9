import { ADOPTION_LAST_REVISION, ADOPTION_STAGE } from '../protocol/names.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../admission/interfaces.js';
import { newForbidden } from '../../apimachinery/meta/errors.js';
import { newGroupMovingError } from './adopted-definitions.js';
import type { GroupResource } from '../../apimachinery/meta/meta.js';
import { LOOPBACK_USER } from '../../authentication/user/user.js';
import type { Handover } from '../../registry/generic/handover.js';

/**
 * Rejects writes to a group that is moving into Annex or back, until it has moved. The progress of the move is an annotation of its
 * definitions, which only Annex may change: permission to edit definitions does not open the gate.
 */
export function adoptionGate(adopted: Pick<Handover, 'takesWrites'>, definitions: GroupResource): AdmissionPlugin {
  const isDefinition = ({ group, resource }: GroupResource): boolean =>
    group === definitions.group && resource === definitions.resource;
  return {
    name: 'AdoptionGate',
    handles: (operation) => operation !== 'CONNECT',
    readsObjects: isDefinition,
    admit({ resource }) {
      if (adopted.takesWrites(resource)) return;
      throw newGroupMovingError(resource.group);
    },
    // Runs after all mutations, whichever plugin made them.
    validate: (attributes) => {
      if (isDefinition(attributes.resource)) assertStageUnchanged(attributes);
    },
  };
}

function assertStageUnchanged({ resource, name, object, oldObject, operation, user }: AdmissionAttributes): void {
  if (operation === 'DELETE' || user === LOOPBACK_USER) return;
  const isKept = (annotation: string): boolean =>
    object?.metadata.annotations?.[annotation] === oldObject?.metadata.annotations?.[annotation];
  const changed = [ADOPTION_STAGE, ADOPTION_LAST_REVISION].find((annotation) => !isKept(annotation));
  if (changed === undefined) return;
  throw newForbidden(
    resource,
    name,
    `the annotation ${changed} records the progress of an Adoption and is set only by Annex`,
  );
}
