import { Buffer } from 'node:buffer';
import { dirname, isAbsolute, join } from 'node:path';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  objectsOf,
  stringAt,
  stringsOf,
} from '../../apimachinery/json/json.js';
import { parseYaml } from '../../apimachinery/yaml/yaml.js';
import { redactedAddress } from '../../util/text/redacted-address.js';

/** An unusable kubeconfig; the server does not start with it. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

/** The address of the remote service and the user's credentials for it, with all files read. */
export interface RemoteConfig {
  readonly url: URL;
  readonly ca: string | undefined;
  readonly serverName: string | undefined;
  readonly skipVerification: boolean;
  /** http, https or socks5. */
  readonly proxy?: URL | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly token: string | undefined;
  /** Reread for calls, because its content rotates. */
  readonly tokenFile: string | undefined;
  readonly basic: { readonly username: string; readonly password: string } | undefined;
  /** The headers for impersonation. */
  readonly impersonation?: Readonly<Record<string, string | string[]>>;
  /** Returns the address to connect to, if it is not the URL's own host; called for every call. */
  readonly dial?: (() => Promise<{ readonly host: string; readonly port: number }>) | undefined;
  /** True if redirects to other servers are rejected. */
  readonly staysOnServer?: boolean | undefined;
  /** Longer responses are rejected. Default: 4 MiB. */
  readonly maxAnswerBytes?: number | undefined;
  /** The maximum number of concurrent calls; further calls wait. Default: 128. */
  readonly maxCalls?: number | undefined;
  /** The timeout that ends calls: the client's own, which error messages then mention, or that of the request. Default: the client's. */
  readonly timeout?: 'client' | 'request' | undefined;
  /** The user's `exec` entry with the cluster entry, for callers that run credential plugins. */
  readonly exec: { readonly user: JsonObject; readonly cluster: JsonObject; readonly directory: string } | undefined;
}

export type ReadFile = (path: string) => Promise<string>;

/** The servers that a webhook may have: only https without parameters for authorization webhooks, any for token webhooks. */
export type ServerRule = 'https' | 'any';

/** Reads a webhook's kubeconfig file. Relative paths in it are relative to its folder. */
export async function loadKubeconfig(
  path: string,
  readFile: ReadFile,
  rule: ServerRule = 'https',
): Promise<RemoteConfig> {
  const entries = currentEntries(await readFile(path), dirname(path));
  const url = remoteUrl(stringAt(entries.cluster, 'server') ?? '', rule);
  return remoteConfig(entries, url, await readFiles(entries, readFile));
}

/** Reads the kubeconfig file of a cluster that is called through its API. */
export function loadClusterKubeconfig(path: string, readFile: (path: string) => string): RemoteConfig {
  const entries = currentEntries(readFile(path), dirname(path));
  const server = stringAt(entries.cluster, 'server') ?? '';
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
    throw new KubeconfigError(`${path} does not specify an https server`);
  }
  return remoteConfig(entries, new URL(server), readFile);
}

/** Returns the configuration of a cluster and a user of kubeconfigs, for callers that choose them themselves. */
export function clusterConfigOf(entries: Entries, readFile: (path: string) => string): RemoteConfig {
  const server = stringAt(entries.cluster, 'server') ?? '';
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new KubeconfigError(`the server of the cluster, ${redactedAddress(server)}, is not an http or https URL`);
  return remoteConfig(entries, url, readFile);
}

/** The entries of a context; relative paths in them are relative to the folder. */
export interface Entries {
  readonly cluster: JsonObject;
  readonly user: JsonObject;
  readonly directory: string;
}

const currentEntries = (text: string, directory: string): Entries => ({
  ...currentContext(parseKubeconfig(text)),
  directory,
});

/** Returns the data in the entry itself, or else the file that it names. */
function contentOf(
  entry: JsonObject,
  key: string,
  directory: string,
): { readonly text: string } | { readonly file: string } | undefined {
  const data = stringAt(entry, `${key}-data`) ?? '';
  if (data !== '') return { text: Buffer.from(data, 'base64').toString('utf8') };
  const file = stringAt(entry, key) ?? '';
  return file === '' ? undefined : { file: resolve(directory, file) };
}

/** Returns the content of a file that the entries name. */
type Read = (file: string) => string;

async function readFiles({ cluster, user, directory }: Entries, readFile: ReadFile): Promise<Read> {
  const contents = new Map<string, string>();
  for (const content of [
    contentOf(cluster, 'certificate-authority', directory),
    contentOf(user, 'client-certificate', directory),
    contentOf(user, 'client-key', directory),
  ]) {
    if (content !== undefined && 'file' in content) contents.set(content.file, await readFile(content.file));
  }
  return (file) => contents.get(file) ?? '';
}

function textOf(entry: JsonObject, key: string, directory: string, read: Read): string | undefined {
  const content = contentOf(entry, key, directory);
  if (content === undefined) return undefined;
  return 'text' in content ? content.text : read(content.file);
}

const remoteConfig = (entries: Entries, url: URL, read: Read): RemoteConfig => ({
  url,
  ca: textOf(entries.cluster, 'certificate-authority', entries.directory, read),
  serverName: orUndefined(stringAt(entries.cluster, 'tls-server-name')),
  skipVerification: entries.cluster['insecure-skip-tls-verify'] === true,
  proxy: proxyOf(entries.cluster),
  ...credentialsOf(entries, read),
});

/** The credentials of a user of a kubeconfig. */
export type Credentials = Pick<
  RemoteConfig,
  'certificate' | 'key' | 'token' | 'tokenFile' | 'basic' | 'impersonation' | 'exec'
>;

function credentialsOf({ cluster, user, directory }: Entries, read: Read): Credentials {
  const tokenFile = stringAt(user, 'tokenFile') ?? '';
  const exec = objectAt(user, 'exec');
  return {
    certificate: textOf(user, 'client-certificate', directory, read),
    key: textOf(user, 'client-key', directory, read),
    token: orUndefined(stringAt(user, 'token')),
    tokenFile: tokenFile === '' ? undefined : resolve(directory, tokenFile),
    basic: basicFrom(user),
    impersonation: impersonationOf(user),
    exec: exec === undefined ? undefined : { user: exec, cluster, directory },
  };
}

/** Returns the credentials of a user entry, with all files read. Relative paths are relative to the folder. */
export async function loadUser(user: JsonObject, directory: string, readFile: ReadFile): Promise<Credentials> {
  const entries = { cluster: {}, user, directory };
  return credentialsOf(entries, await readFiles(entries, readFile));
}

const PROXIES = ['http:', 'https:', 'socks5:'];

function proxyOf(cluster: JsonObject): URL | undefined {
  const text = stringAt(cluster, 'proxy-url') ?? '';
  if (text === '') return undefined;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy === undefined || !PROXIES.includes(proxy.protocol)) {
    // The message does not repeat the password that the URL may contain.
    throw new KubeconfigError(
      'invalid configuration: invalid proxy-url: must be a URL with scheme "http", "https", or "socks5"',
    );
  }
  return proxy;
}

/** Returns the headers for users that impersonate another one. */
function impersonationOf(user: JsonObject): Readonly<Record<string, string | string[]>> {
  const name = stringAt(user, 'as') ?? '';
  const uid = stringAt(user, 'as-uid') ?? '';
  const groups = stringsOf(user['as-groups']);
  const extra = objectAt(user, 'as-user-extra') ?? {};
  return {
    ...(name !== '' && { 'Impersonate-User': name }),
    ...(uid !== '' && { 'Impersonate-Uid': uid }),
    ...(groups.length > 0 && { 'Impersonate-Group': groups }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, value]) => [`Impersonate-Extra-${encodeURIComponent(key)}`, stringsOf(value)]),
    ),
  };
}

const orUndefined = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
const resolve = (directory: string, file: string): string => (isAbsolute(file) ? file : join(directory, file));

function basicFrom(user: JsonObject): RemoteConfig['basic'] {
  const username = stringAt(user, 'username') ?? '';
  return username === '' ? undefined : { username, password: stringAt(user, 'password') ?? '' };
}

export function parseKubeconfig(text: string): JsonObject {
  const { value } = parseYaml(text);
  if (!isObject(value)) throw new KubeconfigError('invalid configuration: no configuration has been provided');
  return value;
}

function currentContext(config: JsonObject): { readonly cluster: JsonObject; readonly user: JsonObject } {
  const name = stringAt(config, 'current-context') ?? '';
  const context = named(config['contexts'], name, 'context');
  if (context === undefined && name !== '') {
    throw new KubeconfigError(`invalid configuration: context was not found for specified context: ${name}`);
  }
  // Without a context, the file's only cluster and user are used, as in the examples of Kubernetes' documentation.
  const clusterName = stringAt(context, 'cluster') ?? onlyName(config['clusters']);
  const userName = stringAt(context, 'user') ?? onlyName(config['users']);
  const cluster = named(config['clusters'], clusterName, 'cluster');
  if (cluster === undefined || Object.keys(cluster).length === 0)
    throw new KubeconfigError('invalid configuration: no server found for cluster "' + clusterName + '"');
  const user = named(config['users'], userName, 'user');
  if (user === undefined && userName !== '') {
    throw new KubeconfigError(`invalid configuration: user "${userName}" was not found for context "${name}"`);
  }
  return { cluster, user: user ?? {} };
}

export function named(list: JsonValue | undefined, name: string, key: string): JsonObject | undefined {
  const entry = objectsOf(list).find((known) => known['name'] === name);
  // As in Go, an entry with only a name exists and is empty.
  return entry === undefined ? undefined : (objectAt(entry, key) ?? {});
}

function onlyName(list: JsonValue | undefined): string {
  const all = objectsOf(list);
  return all.length === 1 ? (stringAt(all[0], 'name') ?? '') : '';
}

function remoteUrl(server: string, rule: ServerRule): URL {
  const problem = (why: string): KubeconfigError =>
    new KubeconfigError(`invalid webhook server "${redactedAddress(server)}": ${why}`);
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw problem('must be an https URL');
  }
  if (rule === 'any') {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw problem('must use http or https');
    return url;
  }
  if (url.protocol !== 'https:') throw problem('must use https');
  if (url.search !== '' || server.includes('?')) throw problem('must not have query parameters');
  return url;
}
