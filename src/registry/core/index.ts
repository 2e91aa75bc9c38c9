import { leases } from '../coordination/leases/type.js';
import { eventsV1 } from '../events/events/type.js';
import type { ResourceType } from '../rest/interfaces.js';
import { configMaps } from './configmaps/type.js';
import { events } from './events/type.js';
import { namespaces } from './namespaces/type.js';
import { secrets } from './secrets/type.js';
import { serviceAccounts } from './serviceaccounts/type.js';

/** The built-in types of the core, events and coordination groups. */
export function builtinResourceTypes(): ResourceType[] {
  return [configMaps, events, namespaces, secrets, serviceAccounts, eventsV1, leases];
}
