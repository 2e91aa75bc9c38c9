import { objectAt, stringAt, type JsonObject } from '../../../apimachinery/json/json.js';
import { postError } from '../../../client/webhook/connection.js';
import { HttpsTransport } from '../../../client/webhook/transport.js';
import type { Conversion, ReviewSender } from '../../../registry/customresource/conversion/conversion.js';
import type { Definition } from '../../../registry/customresource/definition.js';
import { conversionOf } from '../../../registry/customresource/conversion/webhook-conversion.js';
import type { TypeClient } from '../../../registry/rest/type-client.js';
import { systemClock } from '../../../util/clock.js';
import { NEVER_ABORTED } from '../../../util/never-aborted.js';

const TIMEOUT_SECONDS = 30;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const HTTPS_PORT = 443;

/** Where a service's port is to be reached; rejects where it is not. */
export type ServiceResolver = (namespace: string, name: string, port: number) => Promise<Address>;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Makes the conversion that a definition asks for. */
export function conversions(resolve: ServiceResolver): (definition: Definition) => Conversion {
  return (definition) => conversionOf(definition, (config) => reviewSender(config, resolve), { clock: systemClock });
}

/** Inside of a cluster services are known to its DNS. */
export const resolveByDns: ServiceResolver = (namespace, name, port) =>
  Promise.resolve({ host: `${name}.${namespace}.svc`, port });

/** By the services that are stored here: an external name, a cluster's address; one without an address is left to DNS. */
export function resolveByServices(services: Pick<TypeClient, 'get'>): ServiceResolver {
  return async (namespace, name, port) => {
    const service = await services.get(namespace, name);
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
  const service = objectAt(config, 'service');
  const transport = new HttpsTransport(
    {
      ...(service === undefined ? directly(stringAt(config, 'url') ?? '') : throughService(service, resolve)),
      ca: certificates(stringAt(config, 'caBundle') ?? ''),
      skipVerification: false,
      certificate: undefined,
      key: undefined,
      token: undefined,
      tokenFile: undefined,
      basic: undefined,
      exec: undefined,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    },
    () => Promise.reject(new Error('nothing is read from files')),
    undefined,
  );
  return {
    async send(review) {
      const response = await transport.post(review, TIMEOUT_SECONDS * 1000, NEVER_ABORTED);
      if (response.status < 200 || response.status > 206) throw postError(response);
      return response.body;
    },
  };
}

function directly(text: string): { readonly url: URL; readonly serverName: undefined } {
  return { url: withTimeout(new URL(text)), serverName: undefined };
}

function throughService(
  service: JsonObject,
  resolve: ServiceResolver,
): { readonly url: URL; readonly serverName: string; readonly dial: () => Promise<Address> } {
  const namespace = stringAt(service, 'namespace') ?? '';
  const name = stringAt(service, 'name') ?? '';
  const port = typeof service['port'] === 'number' ? service['port'] : HTTPS_PORT;
  const serverName = `${name}.${namespace}.svc`;
  const url = new URL(`https://${serverName}:${port}`);
  url.pathname = stringAt(service, 'path') ?? '/';
  return { url: withTimeout(url), serverName, dial: () => resolve(namespace, name, port) };
}

function withTimeout(url: URL): URL {
  url.searchParams.set('timeout', `${TIMEOUT_SECONDS}s`);
  return url;
}

/** A bundle of nothing but space counts as none: then the authorities of the system are trusted. */
function certificates(bundle: string): string | undefined {
  const text = Buffer.from(bundle, 'base64').toString('utf8').trim();
  return text === '' ? undefined : text;
}
