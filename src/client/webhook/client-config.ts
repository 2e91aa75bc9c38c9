import { posix } from 'node:path';
import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { RemoteConfig } from './kubeconfig.js';

const HTTPS_PORT = 443;

/** Where a service's port is to be reached; rejects where it is not. */
export type ServiceResolver = (namespace: string, name: string, port: number) => Promise<Address>;

interface Address {
  readonly host: string;
  readonly port: number;
}

/** The user that calls a webhook, where a kubeconfig names one. */
export type WebhookCredentials = Pick<
  RemoteConfig,
  'certificate' | 'key' | 'token' | 'tokenFile' | 'basic' | 'impersonation' | 'exec'
>;

const NOBODY: WebhookCredentials = {
  certificate: undefined,
  key: undefined,
  token: undefined,
  tokenFile: undefined,
  basic: undefined,
  exec: undefined,
};

/** Host and port under which a kubeconfig for webhooks knows who calls. */
export function webhookTarget(config: JsonObject): string {
  const service = objectAt(config, 'service');
  if (service !== undefined) return `${serviceName(service)}:${String(portOf(service))}`;
  const { hostname, port } = new URL(stringAt(config, 'url') ?? '');
  return `${hostname}:${port === '' ? String(HTTPS_PORT) : port}`;
}

/**
 * The remote of a client configuration (`url` or `service`, and `caBundle`), as definitions and webhook configurations have it. The
 * query tells the webhook how long is waited for it.
 */
export function webhookRemote(
  config: JsonObject,
  resolve: ServiceResolver,
  timeoutSeconds: number,
  credentials: WebhookCredentials = NOBODY,
): RemoteConfig {
  const service = objectAt(config, 'service');
  const place = service === undefined ? directly(stringAt(config, 'url') ?? '') : throughService(service, resolve);
  place.url.searchParams.set('timeout', `${String(timeoutSeconds)}s`);
  return { ...place, ca: certificates(stringAt(config, 'caBundle') ?? ''), skipVerification: false, ...credentials };
}

type Place = Pick<RemoteConfig, 'serverName' | 'dial'> & { readonly url: URL };

function directly(text: string): Place {
  const url = new URL(text);
  url.pathname = cleanPath(url.pathname);
  return { url, serverName: undefined };
}

function throughService(service: JsonObject, resolve: ServiceResolver): Place {
  const namespace = stringAt(service, 'namespace') ?? '';
  const name = stringAt(service, 'name') ?? '';
  const port = portOf(service);
  const serverName = serviceName(service);
  const url = new URL(`https://${serverName}:${port}`);
  url.pathname = cleanPath(stringAt(service, 'path') ?? '/');
  return { url, serverName, dial: () => resolve(namespace, name, port) };
}

const serviceName = (service: JsonObject): string =>
  `${stringAt(service, 'name') ?? ''}.${stringAt(service, 'namespace') ?? ''}.svc`;

const portOf = (service: JsonObject): number => (typeof service['port'] === 'number' ? service['port'] : HTTPS_PORT);

/** Kubernetes' client leaves slashes at the end out. */
const cleanPath = (path: string): string => posix.join('/', path).replace(/(?<=.)\/$/, '');

/** A bundle of nothing but space counts as none: then the authorities of the system are trusted. */
function certificates(bundle: string): string | undefined {
  const text = Buffer.from(bundle, 'base64').toString('utf8').trim();
  return text === '' ? undefined : text;
}
