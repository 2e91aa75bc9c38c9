import type { ResourceType } from '../../rest/interfaces.js';
import { mutatingAdmissionPolicies } from './mutatingadmissionpolicies/type.js';
import { mutatingAdmissionPolicyBindings } from './mutatingadmissionpolicybindings/type.js';
import type { ParamAccess } from './shared/param-access.js';
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from './shared/webhook-configurations.js';
import { validatingAdmissionPolicies } from './validatingadmissionpolicies/type.js';
import { validatingAdmissionPolicyBindings } from './validatingadmissionpolicybindings/type.js';

/** Returns the types of admission policies and their bindings. */
export const admissionPolicyTypes = (access: ParamAccess): readonly ResourceType[] => [
  validatingAdmissionPolicies(access),
  validatingAdmissionPolicyBindings(access),
  mutatingAdmissionPolicies(access),
  mutatingAdmissionPolicyBindings(access),
];

/** The types of admission webhook configurations. */
export const webhookConfigurationTypes: readonly ResourceType[] = [
  validatingWebhookConfigurations,
  mutatingWebhookConfigurations,
];
