import { type AdmissionAttributes, type AdmissionPlugin } from '../../admission/interfaces.js';
import { deepEqual, objectAt } from '../../apimachinery/json/json.js';
import { newForbidden } from '../../apimachinery/meta/errors.js';
import { userInfoJson } from '../../authentication/user/user.js';
import { OBJECT_RESTORES } from './definition.js';

/** Records who creates an ObjectRestore, and refuses one that another plugin made look like somebody else's. */
export function restoreCreator(): AdmissionPlugin {
  return {
    name: 'ObjectRestoreCreator',
    handles: (operation) => operation === 'CREATE',
    readsObjects: ({ group, resource }) => group === OBJECT_RESTORES.group && resource === OBJECT_RESTORES.resource,
    admit(attributes) {
      const spec = isRestore(attributes) ? objectAt(attributes.object, 'spec') : undefined;
      if (spec !== undefined) spec['createdBy'] = userInfoJson(attributes.user);
    },
    validate(attributes) {
      if (!isRestore(attributes)) return;
      const recorded = objectAt(attributes.object, 'spec')?.['createdBy'];
      if (!deepEqual(recorded, userInfoJson(attributes.user)))
        throw newForbidden(OBJECT_RESTORES, attributes.name, 'spec.createdBy is not the user who creates it');
    },
  };
}

const isRestore = ({ resource: { group, resource }, subresource }: AdmissionAttributes): boolean =>
  group === OBJECT_RESTORES.group && resource === OBJECT_RESTORES.resource && subresource === '';
