import type { ResourceType } from '../../rest/interfaces.js';
import { mutatingAdmissionPolicies } from './mutatingadmissionpolicies/type.js';
import { mutatingAdmissionPolicyBindings } from './mutatingadmissionpolicybindings/type.js';
import type { ParamAccess } from './shared/param-access.js';
import { mutatingWebhookConfigurations } from './mutatingwebhookconfigurations/type.js';
import { validatingAdmissionPolicies } from './validatingadmissionpolicies/type.js';
import { validatingAdmissionPolicyBindings } from './validatingadmissionpolicybindings/type.js';
import { validatingWebhookConfigurations } from './validatingwebhookconfigurations/type.js';

/** The policies of admission and their bindings. */
export const admissionPolicyTypes = (access: ParamAccess): readonly ResourceType[] => [
  validatingAdmissionPolicies(access),
  validatingAdmissionPolicyBindings(access),
  mutatingAdmissionPolicies(access),
  mutatingAdmissionPolicyBindings(access),
];

/** The configurations of admission webhooks. */
export const webhookConfigurationTypes: readonly ResourceType[] = [
  validatingWebhookConfigurations,
  mutatingWebhookConfigurations,
];
