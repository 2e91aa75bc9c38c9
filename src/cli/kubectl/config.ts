import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { type JsonObject, objectAt, objectsOf, textAt } from '../../apimachinery/json/json.js';
import { clusterConfigOf, parseKubeconfig, type RemoteConfig } from '../../client/webhook/kubeconfig.js';
import { Failure, UsageError } from './failure.js';

/** kubectl's flags that choose the server, the user and the namespace. */
export interface ConfigFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly server?: string;
  readonly namespace?: string;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly asUid?: string;
  readonly asUserExtra?: readonly string[];
  readonly certificateAuthority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
}

/** What several kubeconfigs say together. Paths in it are absolute. */
interface MergedConfig {
  readonly contexts: ReadonlyMap<string, JsonObject>;
  readonly clusters: ReadonlyMap<string, JsonObject>;
  readonly users: ReadonlyMap<string, JsonObject>;
  readonly current: string;
}

export interface Target {
  readonly remote: RemoteConfig;
  readonly namespace: string;
}

type Environment = Readonly<Record<string, string | undefined>>;
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const KINDS = [
  ['contexts', 'context'],
  ['clusters', 'cluster'],
  ['users', 'user'],
] as const;
const CLUSTER_FILES = ['certificate-authority'];
const USER_FILES = ['client-certificate', 'client-key', 'tokenFile'];

/** Returns the files that kubectl would read: one that is named must exist, those of KUBECONFIG need not. */
function filesOf(flag: string | undefined, environment: Environment): string[] {
  if (flag !== undefined && flag !== '') {
    if (!existsSync(flag)) throw new Failure(`the kubeconfig ${flag} does not exist`);
    return [flag];
  }
  const named = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  const files = named.length > 0 ? named : [join(homedir(), '.kube/config')];
  return files.filter((path) => existsSync(path));
}

/** Merges kubeconfigs: of entries with the same name, the first one counts, and so does the first current context. */
function loadMerged(flag: string | undefined, environment: Environment): MergedConfig {
  const maps = { contexts: new Map(), clusters: new Map(), users: new Map() } as Record<
    string,
    Map<string, JsonObject>
  >;
  let current = '';
  for (const path of filesOf(flag, environment)) {
    const config = parseKubeconfig(readFileSync(path, 'utf8'));
    current ||= textAt(config, 'current-context');
    for (const [list, key] of KINDS) {
      for (const entry of objectsOf(config[list])) {
        const name = textAt(entry, 'name');
        const known = maps[list];
        if (known?.has(name) === false) known.set(name, withPaths(objectAt(entry, key) ?? {}, dirname(resolve(path))));
      }
    }
  }
  return { ...(maps as unknown as Omit<MergedConfig, 'current'>), current };
}

/** Makes the paths in an entry absolute: they are relative to the folder of its file. */
function withPaths(entry: JsonObject, folder: string): JsonObject {
  const out = { ...entry };
  for (const key of [...CLUSTER_FILES, ...USER_FILES]) {
    const path = textAt(entry, key);
    if (path !== '') out[key] = resolve(folder, path);
  }
  const exec = objectAt(entry, 'exec');
  const command = textAt(exec, 'command');
  if (command.includes(sep) && !isAbsolute(command)) out['exec'] = { ...exec, command: join(folder, command) };
  return out;
}

/** Returns the server, user and namespace that kubectl would use with these flags. */
export function targetOf(flags: ConfigFlags, environment: Environment = process.env): Target {
  const config = loadMerged(flags.kubeconfig, environment);
  const contextName = flags.context ?? config.current;
  const context = config.contexts.get(contextName);
  if (context === undefined && contextName !== '') throw new Failure(`context "${contextName}" does not exist`);
  const cluster = clusterOf(flags, config, context);
  if (cluster === undefined) return inPod(flags, environment);
  const userName = flags.user ?? textAt(context, 'user');
  const user = config.users.get(userName);
  if (user === undefined && userName !== '') throw new Failure(`auth info "${userName}" does not exist`);
  const entries = { cluster, user: withUserFlags(user ?? {}, flags), directory: '' };
  const remote = clusterConfigOf(entries, (path) => readFileSync(path, 'utf8'));
  return { remote, namespace: flags.namespace ?? (textAt(context, 'namespace') || 'default') };
}

function clusterOf(flags: ConfigFlags, config: MergedConfig, context: JsonObject | undefined): JsonObject | undefined {
  const name = flags.cluster ?? textAt(context, 'cluster');
  const known = config.clusters.get(name);
  if (known === undefined && name !== '') throw new Failure(`cluster "${name}" does not exist`);
  if (known === undefined && flags.server === undefined) return undefined;
  const { server, certificateAuthority: ca, insecureSkipTlsVerify: insecure, tlsServerName: serverName } = flags;
  if (ca !== undefined && insecure === true)
    throw new UsageError('--certificate-authority and --insecure-skip-tls-verify exclude each other');
  const replacesCa = ca !== undefined || insecure === true;
  return {
    ...known,
    ...(replacesCa && {
      'certificate-authority-data': '',
      'certificate-authority': '',
      'insecure-skip-tls-verify': false,
    }),
    ...(server !== undefined && { server: server.includes('://') ? server : `http://${server}` }),
    ...(ca !== undefined && { 'certificate-authority': resolve(ca) }),
    ...(insecure === true && { 'insecure-skip-tls-verify': true }),
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
  };
}

function withUserFlags(user: JsonObject, flags: ConfigFlags): JsonObject {
  const { token, username, password, clientCertificate, clientKey, as, asUid, asGroup, asUserExtra } = flags;
  if (token !== undefined && username !== undefined) throw new UsageError('--token and --username exclude each other');
  if (as === undefined && (asUid !== undefined || asGroup !== undefined || asUserExtra !== undefined))
    throw new UsageError('--as-group, --as-uid and --as-user-extra need --as');
  return {
    ...user,
    ...(token !== undefined && { token, tokenFile: '' }),
    ...(username !== undefined && { username, password: password ?? '', token: '', tokenFile: '' }),
    ...(clientCertificate !== undefined && {
      'client-certificate': resolve(clientCertificate),
      'client-certificate-data': '',
    }),
    ...(clientKey !== undefined && { 'client-key': resolve(clientKey), 'client-key-data': '' }),
    ...(as !== undefined && { as, 'as-uid': asUid ?? '', 'as-groups': [...(asGroup ?? [])] }),
    ...(asUserExtra !== undefined && { 'as-user-extra': extraOf(asUserExtra) }),
  };
}

function extraOf(pairs: readonly string[]): JsonObject {
  const extra: Record<string, string[]> = {};
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals <= 0) throw new UsageError(`--as-user-extra: ${pair} is not key=value`);
    (extra[pair.slice(0, equals)] ??= []).push(pair.slice(equals + 1));
  }
  return extra;
}

/** Within a pod kubectl needs no kubeconfig: the service account is the user. */
function inPod(flags: ConfigFlags, environment: Environment): Target {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = environment;
  if (host === '' || port === '' || !existsSync(`${ACCOUNT}/token`)) {
    throw new Failure(
      'there is no configuration: set KUBECONFIG, or name a kubeconfig with --kubeconfig or a server with --server',
    );
  }
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const cluster = { server, 'certificate-authority': `${ACCOUNT}/ca.crt` };
  const entries = { cluster, user: withUserFlags({ tokenFile: `${ACCOUNT}/token` }, flags), directory: '' };
  const read = (path: string): string => readFileSync(path, 'utf8');
  const own = existsSync(`${ACCOUNT}/namespace`) ? read(`${ACCOUNT}/namespace`).trim() : 'default';
  return { remote: clusterConfigOf(entries, read), namespace: flags.namespace ?? own };
}

/** Returns the names of the contexts, clusters or users of the kubeconfigs, for completion. */
export function namesIn(flag: string | undefined, list: 'contexts' | 'clusters' | 'users'): string[] {
  return [...loadMerged(flag, process.env)[list].keys()].sort();
}
