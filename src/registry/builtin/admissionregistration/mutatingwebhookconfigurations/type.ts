import { webhookConfigurations } from '../shared/webhook-configurations.js';

export const mutatingWebhookConfigurations = webhookConfigurations(
  'mutatingwebhookconfigurations',
  'MutatingWebhookConfiguration',
  (webhook) => {
    webhook['reinvocationPolicy'] ??= 'Never';
  },
);
