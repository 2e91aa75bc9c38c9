import { noop } from '../../shared/resource-type.js';
import { webhookConfigurations } from '../shared/webhook-configurations.js';

export const validatingWebhookConfigurations = webhookConfigurations(
  'validatingwebhookconfigurations',
  'ValidatingWebhookConfiguration',
  noop,
);
