import { objectAt, stringAt, type JsonObject } from '../../../apimachinery/json/json.js';
import { type ServiceResolver, webhookRemote } from '../../../client/webhook/client-config.js';
import { postError } from '../../../client/webhook/post-error.js';
import { HttpsTransport } from '../../../client/webhook/transport.js';
import type { Conversion, ReviewSender } from '../../../registry/customresource/conversion/conversion.js';
import type { Definition } from '../../../registry/customresource/definition.js';
import { conversionOf } from '../../../registry/customresource/conversion/webhook-conversion.js';
import type { LoopbackClient } from '../../../registry/rest/loopback-client.js';
import { systemClock } from '../../../util/clock.js';
import { withSpan } from '../../../util/tracing.js';
import { NEVER_ABORTED } from '../../../util/never-aborted.js';

const TIMEOUT_SECONDS = 30;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Returns a function that creates the conversion that a definition configures. */
export function conversions(resolve: ServiceResolver): (definition: Definition) => Conversion {
  return (definition) => conversionOf(definition, (config) => reviewSender(config, resolve), { clock: systemClock });
}

/** Resolves services by the DNS of the cluster that the server runs in. */
export const resolveByDns: ServiceResolver = (namespace, name, port) =>
  Promise.resolve({ host: `${name}.${namespace}.svc`, port });

/** Resolves services by their stored objects, to the external name or the cluster IP. A service without an address is left to DNS. */
export function resolveByServices(services: () => Pick<LoopbackClient, 'get'>): ServiceResolver {
  return async (namespace, name, port) => {
    const service = await services().get(namespace, name);
    if (service === undefined) throw new Error(`service "${name}" not found`);
    const spec = objectAt(service, 'spec') ?? {};
    const externalName = stringAt(spec, 'externalName') ?? '';
    if (stringAt(spec, 'type') === 'ExternalName') return { host: externalName, port };
    const ports = Array.isArray(spec['ports']) ? (spec['ports'] as JsonObject[]) : [];
    if (!ports.some((candidate) => candidate['port'] === port)) {
      throw new Error(`no service port ${port} found for service "${name}"`);
    }
    const clusterIp = stringAt(spec, 'clusterIP') ?? '';
    if (clusterIp === 'None') throw new Error('cannot route to service with ClusterIP "None"');
    return clusterIp === '' ? resolveByDns(namespace, name, port) : { host: clusterIp, port };
  };
}

function reviewSender(config: JsonObject, resolve: ServiceResolver): ReviewSender {
  const transport = new HttpsTransport(
    { ...webhookRemote(config, resolve, TIMEOUT_SECONDS), maxAnswerBytes: MAX_ANSWER_BYTES },
    () => Promise.reject(new Error('conversion webhooks do not read files')),
    undefined,
  );
  return {
    async send(review) {
      const response = await withSpan('Call conversion webhook', undefined, () =>
        transport.post(review, TIMEOUT_SECONDS * 1000, NEVER_ABORTED),
      );
      if (response.status < 200 || response.status > 206) throw postError(response);
      return response.body;
    },
  };
}
