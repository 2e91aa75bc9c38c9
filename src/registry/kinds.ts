import { customResourceDefinitions } from './apiextensions/customresourcedefinition/type.js';
import { mutatingAdmissionPolicies } from './builtin/admissionregistration/mutatingadmissionpolicies/type.js';
import { mutatingAdmissionPolicyBindings } from './builtin/admissionregistration/mutatingadmissionpolicybindings/type.js';
import type { ParamAccess } from './builtin/admissionregistration/shared/param-access.js';
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from './builtin/admissionregistration/shared/webhook-configurations.js';
import { validatingAdmissionPolicies } from './builtin/admissionregistration/validatingadmissionpolicies/type.js';
import { validatingAdmissionPolicyBindings } from './builtin/admissionregistration/validatingadmissionpolicybindings/type.js';
import { certificateSigningRequests } from './builtin/certificates/certificatesigningrequests/type.js';
import { leases } from './builtin/coordination/leases/type.js';
import { configMaps } from './builtin/core/configmaps/type.js';
import { endpoints } from './builtin/core/endpoints/type.js';
import { events } from './builtin/core/events/type.js';
import { namespaces } from './builtin/core/namespaces/type.js';
import { nodes } from './builtin/core/nodes/type.js';
import { persistentVolumeClaims } from './builtin/core/persistentvolumeclaims/type.js';
import { persistentVolumes } from './builtin/core/persistentvolumes/type.js';
import { pods } from './builtin/core/pods/type.js';
import { resourceQuotas } from './builtin/core/resourcequotas/type.js';
import { secrets } from './builtin/core/secrets/type.js';
import { serviceAccounts } from './builtin/core/serviceaccounts/type.js';
import { services } from './builtin/core/services/type.js';
import { eventsV1 } from './builtin/events/events/type.js';
import type { EscalationDependencies } from './builtin/rbac/escalation.js';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from './builtin/rbac/types.js';
import type { ResourceType } from './rest/interfaces.js';

/** A stored built-in type, or a function that returns it. */
type Kind<Needs> = ResourceType | ((needs: Needs) => ResourceType);

/** The types whose writes depend only on the request, the store, and calls to the main thread, in the order of discovery. */
const OFFLOADABLE: readonly Kind<EscalationDependencies>[] = [
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
  roles,
  clusterRoles,
  roleBindings,
  clusterRoleBindings,
  certificateSigningRequests,
  customResourceDefinitions,
];

/** The types whose writes need the main thread. */
const OTHERS: readonly Kind<ParamAccess>[] = [
  validatingWebhookConfigurations,
  mutatingWebhookConfigurations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
];

const made = <Needs>(kinds: readonly Kind<Needs>[], needs: Needs): ResourceType[] =>
  kinds.map((kind) => (typeof kind === 'function' ? kind(needs) : kind));

/** Returns the types that worker threads can write. */
export const offloadableKinds = (escalation: EscalationDependencies): ResourceType[] => made(OFFLOADABLE, escalation);

/** Returns the stored built-in types of standalone mode. */
export const builtinKinds = (escalation: EscalationDependencies, params: ParamAccess): ResourceType[] => [
  ...offloadableKinds(escalation),
  ...made(OTHERS, params),
];
