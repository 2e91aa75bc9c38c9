import type { Registry } from 'prom-client';
import type { PluginFlags } from '../../../admission/plugin-names.js';
import type { StaticSources } from '../../../admission/sources.js';
import { credentialSource } from '../../../client/credential-source.js';
import type { ServiceResolver } from '../../../client/webhook/client-config.js';
import { WebhookClients } from '../../../client/webhook/clients.js';
import { loadWebhookUsers } from '../../../client/webhook/webhook-users.js';
import type { Clock } from '../../../util/clock.js';
import type { Logger } from '../../../util/logger.js';
import { staticSources } from './static-sources.js';
import { loadAdmissionConfig, type WebhookPlugin } from './admission-config.js';
import type { Options } from '../../options/options.js';
import { readText } from '../../../util/files/read-text.js';

/** What `--admission-control-config-file` configures: the clients of the two webhook plugins, and configurations from files. */
export interface ConfiguredAdmission {
  readonly mutating: WebhookClients;
  readonly validating: WebhookClients;
  readonly files: StaticSources;
  close(): void;
}

export interface ConfiguredAdmissionOptions {
  readonly options: Pick<Options, 'admissionControlConfigFile'> & PluginFlags;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly resolve: ServiceResolver;
  readonly registry: Registry;
}

/** Reads `--admission-control-config-file`, and what it refers to. Rejects if any of it cannot be used. */
export async function configuredAdmission({
  options,
  clock,
  logger,
  resolve,
  registry,
}: ConfiguredAdmissionOptions): Promise<ConfiguredAdmission> {
  const { kubeconfigs, manifests, unused } = await loadAdmissionConfig(options.admissionControlConfigFile, readText);
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
  const closed = new AbortController();
  const files = await staticSources({ folders: manifests, flags: options, clock, logger, registry }, closed.signal);
  return {
    mutating,
    validating,
    files,
    close: () => {
      closed.abort();
      mutating.close();
      validating.close();
    },
  };
}
