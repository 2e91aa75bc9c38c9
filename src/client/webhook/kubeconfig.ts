import { Buffer } from 'node:buffer';
import { dirname, isAbsolute, join } from 'node:path';
import { isObject, objectAt, stringAt, type JsonObject, type JsonValue } from '../../apimachinery/json.js';
import { parseYaml } from '../../apimachinery/yaml.js';

/** A kubeconfig that cannot be used; the server does not start with it. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

/** How to reach the remote service and who to be there, with all files read. */
export interface RemoteConfig {
  readonly url: URL;
  readonly ca: string | undefined;
  readonly serverName: string | undefined;
  readonly skipVerification: boolean;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly token: string | undefined;
  /** Read anew for calls, as its content rotates. */
  readonly tokenFile: string | undefined;
  readonly basic: { readonly username: string; readonly password: string } | undefined;
  /** Where the connection goes, where that is not the URL's own host; asked for every call. */
  readonly dial?: (() => Promise<{ readonly host: string; readonly port: number }>) | undefined;
  /** Longer answers are not read. Default: 4 MiB. */
  readonly maxAnswerBytes?: number | undefined;
  /** The user's `exec` entry with the cluster entry, for whoever runs credential plugins. */
  readonly exec: { readonly user: JsonObject; readonly cluster: JsonObject; readonly directory: string } | undefined;
}

export type ReadFile = (path: string) => Promise<string>;

/** Reads a webhook's kubeconfig file. Relative paths in it are relative to its folder. */
export async function loadKubeconfig(path: string, readFile: ReadFile): Promise<RemoteConfig> {
  const parsed = parseKubeconfig(await readFile(path));
  const { cluster, user } = currentContext(parsed);
  // Never around a proxy that somebody asked for.
  if ((stringAt(cluster, 'proxy-url') ?? '') !== '') {
    throw new KubeconfigError('invalid configuration: proxy-url is not supported');
  }
  const directory = dirname(path);
  const fromFile = async (entry: JsonObject, key: string): Promise<string | undefined> => {
    const data = stringAt(entry, `${key}-data`) ?? '';
    if (data !== '') return Buffer.from(data, 'base64').toString('utf8');
    const file = stringAt(entry, key) ?? '';
    return file === '' ? undefined : readFile(resolve(directory, file));
  };
  const tokenFile = stringAt(user, 'tokenFile') ?? '';
  const exec = objectAt(user, 'exec');
  return {
    url: remoteUrl(stringAt(cluster, 'server') ?? ''),
    ca: await fromFile(cluster, 'certificate-authority'),
    serverName: orUndefined(stringAt(cluster, 'tls-server-name')),
    skipVerification: cluster['insecure-skip-tls-verify'] === true,
    certificate: await fromFile(user, 'client-certificate'),
    key: await fromFile(user, 'client-key'),
    token: orUndefined(stringAt(user, 'token')),
    tokenFile: tokenFile === '' ? undefined : resolve(directory, tokenFile),
    basic: basicFrom(user),
    exec: exec === undefined ? undefined : { user: exec, cluster, directory },
  };
}

const orUndefined = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
const resolve = (directory: string, file: string): string => (isAbsolute(file) ? file : join(directory, file));

function basicFrom(user: JsonObject): RemoteConfig['basic'] {
  const username = stringAt(user, 'username') ?? '';
  return username === '' ? undefined : { username, password: stringAt(user, 'password') ?? '' };
}

function parseKubeconfig(text: string): JsonObject {
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
  // Without a context the file's only cluster and user are meant, as Kubernetes' documentation writes such files.
  const clusterName = stringAt(context, 'cluster') ?? onlyName(config['clusters']);
  const userName = stringAt(context, 'user') ?? onlyName(config['users']);
  const cluster = named(config['clusters'], clusterName, 'cluster');
  if (cluster === undefined)
    throw new KubeconfigError('invalid configuration: no server found for cluster "' + clusterName + '"');
  const user = named(config['users'], userName, 'user');
  if (user === undefined && userName !== '') {
    throw new KubeconfigError(`invalid configuration: user "${userName}" was not found for context "${name}"`);
  }
  return { cluster, user: user ?? {} };
}

function entries(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function named(list: JsonValue | undefined, name: string, key: string): JsonObject | undefined {
  return objectAt(
    entries(list).find((entry) => entry['name'] === name),
    key,
  );
}

function onlyName(list: JsonValue | undefined): string {
  const all = entries(list);
  return all.length === 1 ? (stringAt(all[0], 'name') ?? '') : '';
}

function remoteUrl(server: string): URL {
  const problem = (why: string): KubeconfigError => new KubeconfigError(`invalid webhook server "${server}": ${why}`);
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw problem('must be an https URL');
  }
  if (url.protocol !== 'https:') throw problem('must use https');
  if (url.search !== '' || server.includes('?')) throw problem('must not have query parameters');
  return url;
}
