import { leases } from '../coordination/leases/type.js';
import { eventsV1 } from '../events/events/type.js';
import type { ResourceType } from '../../rest/interfaces.js';
import { configMaps } from './configmaps/type.js';
import { endpoints } from './endpoints/type.js';
import { events } from './events/type.js';
import { namespaces } from './namespaces/type.js';
import { nodes } from './nodes/type.js';
import { persistentVolumeClaims } from './persistentvolumeclaims/type.js';
import { persistentVolumes } from './persistentvolumes/type.js';
import { pods } from './pods/type.js';
import { resourceQuotas } from './resourcequotas/type.js';
import { secrets } from './secrets/type.js';
import { serviceAccounts } from './serviceaccounts/type.js';
import { services } from './services/type.js';

/** Returns the built-in types of the core, events and coordination groups, in the order of discovery. */
export function builtinResourceTypes(): ResourceType[] {
  return [
    configMaps,
    endpoints,
    events,
    namespaces,
    nodes,
    persistentVolumeClaims,
    persistentVolumes,
    pods,
    resourceQuotas,
    secrets,
    serviceAccounts,
    services,
    eventsV1,
    leases,
  ];
}
