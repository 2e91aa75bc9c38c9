import { credentialSource } from '../../../client/credential-source.js';
import type { ServiceResolver } from '../../../client/webhook/client-config.js';
import { WebhookClients } from '../../../client/webhook/clients.js';
import { loadWebhookUsers } from '../../../client/webhook/webhook-users.js';
import type { Clock } from '../../../util/clock.js';
import type { Logger } from '../../../util/logger.js';
import { loadAdmissionConfig, type WebhookPlugin } from './admission-config.js';
import type { Options } from '../../options/options.js';
import { readText } from '../../../util/files/read-text.js';

/** The clients of the two webhook plugins. */
export interface AdmissionWebhookClients {
  readonly mutating: WebhookClients;
  readonly validating: WebhookClients;
  close(): void;
}

export interface AdmissionWebhookOptions {
  readonly options: Pick<Options, 'admissionControlConfigFile'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly resolve: ServiceResolver;
}

/**
 * Returns the clients of admission webhooks, with the credentials that `--admission-control-config-file` configures. Rejects if
 * that file cannot be used.
 */
export async function admissionWebhookClients({
  options,
  clock,
  logger,
  resolve,
}: AdmissionWebhookOptions): Promise<AdmissionWebhookClients> {
  const { kubeconfigs, unused } = await loadAdmissionConfig(options.admissionControlConfigFile, readText);
  if (unused.length > 0) {
    logger.info('these configured admission plugins have no effect here', { plugins: unused.join(', ') });
  }
  const clients = async (plugin: WebhookPlugin): Promise<WebhookClients> => {
    const path = kubeconfigs[plugin];
    const credentials = path === undefined ? undefined : await loadWebhookUsers(path, readText);
    return new WebhookClients({
      resolve,
      clock,
      credentials,
      readFile: readText,
      source: (remote) => credentialSource(remote, clock),
    });
  };
  const mutating = await clients('MutatingAdmissionWebhook');
  const validating = await clients('ValidatingAdmissionWebhook');
  return {
    mutating,
    validating,
    close: () => {
      mutating.close();
      validating.close();
    },
  };
}
