import { posix } from 'node:path';
import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { Credentials, RemoteConfig } from './kubeconfig.js';

const HTTPS_PORT = 443;

/** Resolves the address of a service's port; rejects if it cannot be reached. */
export type ServiceResolver = (namespace: string, name: string, port: number) => Promise<Address>;

interface Address {
  readonly host: string;
  readonly port: number;
}

const NOBODY: Credentials = {
  certificate: undefined,
  key: undefined,
  token: undefined,
  tokenFile: undefined,
  basic: undefined,
  exec: undefined,
};

/** Returns the host and port by which a kubeconfig for webhooks identifies the user. */
export function webhookTarget(config: JsonObject): string {
  const service = objectAt(config, 'service');
  if (service !== undefined) return `${serviceName(service)}:${String(portOf(service))}`;
  const { hostname, port } = new URL(stringAt(config, 'url') ?? '');
  return `${hostname}:${port === '' ? String(HTTPS_PORT) : port}`;
}

/**
 * Returns the remote of a client configuration (`url` or `service`, and `caBundle`), as found in definitions and webhook configurations.
 * The query tells the webhook the timeout of the call.
 */
export function webhookRemote(
  config: JsonObject,
  resolve: ServiceResolver,
  timeoutSeconds: number,
  /** Those of the user that calls the webhook, if a kubeconfig names one. */
  credentials: Credentials = NOBODY,
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

/** Kubernetes' client drops trailing slashes. */
const cleanPath = (path: string): string => posix.join('/', path).replace(/(?<=.)\/$/, '');

/** A blank bundle counts as none: the system's CAs are trusted then. */
function certificates(bundle: string): string | undefined {
  const text = Buffer.from(bundle, 'base64').toString('utf8').trim();
  return text === '' ? undefined : text;
}
