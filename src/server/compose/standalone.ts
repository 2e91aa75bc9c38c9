import { messageOf } from '../../util/error-message.js';
import { watchFile } from '../../util/files/watch-file.js';
import { resolve } from 'node:path';
import type { RequestAuthenticator, TokenAuthenticator } from '../../authentication/authenticator/interfaces.js';
import type { AnonymousConfig } from '../../authentication/oidc/types.js';
import { AnonymousAuthenticator, WithFallback } from '../../authentication/request/anonymous.js';
import { AuthenticatedGroupAdder } from '../../authentication/request/authenticated-group.js';
import { BearerTokenAuthenticator } from '../../authentication/request/bearer-token.js';
import { CaBundle, CaFile } from '../../authentication/request/client-ca.js';
import { type RequestHeaderConfig, RequestHeaderAuthenticator } from '../../authentication/request/request-header.js';
import { UnionRequestAuthenticator } from '../../authentication/request/union.js';
import { WebSocketProtocolAuthenticator } from '../../authentication/request/websocket-protocol.js';
import { X509Authenticator } from '../../authentication/request/x509.js';
import type { AuthenticationInfo } from '../../controllers/cluster-authentication-info.js';
import { type Clock, systemClock } from '../../util/clock.js';
import { featureGates } from '../../util/feature-gates.js';
import { createLogger, type Logger } from '../../util/logger.js';
import { registerExpiryMetric } from '../metrics/aggregation-metrics.js';
import type { ApiServer } from '../http/api-server.js';
import type { TlsMaterial } from '../http/tls-material.js';
import { authorizationOptions } from '../options/authorization-options.js';
import type { Authorities } from './startup/hook-context.js';
import { buildControlPlane, openStandaloneStore } from './control-plane.js';
import {
  DataDirectory,
  type KeyPem,
  type Leaves,
  parsePair,
  readFile,
  StartError,
} from '../certificates/data-directory.js';
import { type Keys, ownKeys } from '../certificates/keys/shared-keys.js';
import { temporaryPair } from '../certificates/serving-certificates.js';
import { makeOidc } from './access/oidc.js';
import { advertisedAddress, hostPort, isUnspecified } from '../http/host-address.js';
import { loggerOptions } from '../options/logging-options.js';
import type { Options } from '../options/options.js';
import { listen, runServer } from './run.js';
import { type Extensions, serverContext, type ServerContext } from './server-context.js';
import { makeServiceAccountTokens } from './access/service-account-tokens.js';
import { makeTokenAuthenticator } from './access/token-authenticators.js';
import { openSharedKeys, readKeyFiles, signingAuthority, trusted } from './standalone-keys.js';

const RELOAD_MILLIS = 60_000;

export interface StandaloneServer {
  readonly port: number;
  readonly url: string;
  readonly kubeconfig: string;
  /** Stops gracefully: reports unready, waits for the shutdown delay, ends watches, drains requests, and closes the store. */
  stop(): Promise<void>;
}

/** The CAs that flags name. */
interface CaFiles {
  readonly clientCaFile: CaFile | undefined;
  readonly proxyCa: CaFile | undefined;
}

interface Files extends CaFiles {
  readonly tls: TlsMaterial;
  readonly clientCa: CaBundle;
  /** The client CAs besides those of the flag: Annex's own. */
  ownClientCas: string;
}

function caFile(path: string, flag: string): CaFile | undefined {
  if (path === '') return undefined;
  try {
    return new CaFile(path);
  } catch (error) {
    throw new StartError(`--${flag}: ${path} cannot be used: ${messageOf(error)}`);
  }
}

const readCaFiles = (options: Options): CaFiles => ({
  clientCaFile: caFile(options.clientCaFile, 'client-ca-file'),
  proxyCa: caFile(options.requestheaderClientCaFile, 'requestheader-client-ca-file'),
});

/** Reads the serving certificate that the flags name, if they name one. */
function servingInFiles({ tlsCertFile, tlsPrivateKeyFile }: Options): KeyPem | undefined {
  if (tlsCertFile === '') return undefined;
  const cert = readFile(tlsCertFile, '--tls-cert-file');
  const key = readFile(tlsPrivateKeyFile, '--tls-private-key-file');
  parsePair(cert, key, tlsCertFile, tlsPrivateKeyFile);
  return { cert, key };
}

function allFiles(cas: CaFiles, serving: KeyPem, ownClientCas: string): Files {
  const { clientCaFile, proxyCa } = cas;
  // The CA of the admin kubeconfig stays trusted in addition to those of the flag.
  const clientCa = new CaBundle(clientCasOf(cas, ownClientCas));
  const clientCAs = [...clientCa.pems, ...(proxyCa?.pems ?? [])];
  return { clientCaFile, proxyCa, ownClientCas, clientCa, tls: { ...serving, clientCAs } };
}

const clientCasOf = ({ clientCaFile }: CaFiles, own: string): string => [own, ...(clientCaFile?.pems ?? [])].join('');

const requestHeaders = (options: Options): RequestHeaderConfig => ({
  usernameHeaders: options.requestheaderUsernameHeaders,
  uidHeaders: options.requestheaderUidHeaders,
  groupHeaders: options.requestheaderGroupHeaders,
  extraHeaderPrefixes: options.requestheaderExtraHeadersPrefix,
  allowedNames: options.requestheaderAllowedNames,
});

const authenticationInfo = (options: Options, { clientCa, proxyCa }: Files): AuthenticationInfo => ({
  clientCa: clientCa.pems,
  proxy: proxyCa === undefined ? undefined : { ca: proxyCa.pems, ...requestHeaders(options) },
});

function makeAuthenticator(
  options: Options,
  files: Files,
  tokens: TokenAuthenticator,
  anonymous: AnonymousConfig,
  clock: Clock,
): RequestAuthenticator {
  const methods: RequestAuthenticator[] = [];
  if (files.proxyCa !== undefined) {
    const headers = requestHeaders(options);
    methods.push(new RequestHeaderAuthenticator(files.proxyCa, () => headers, clock));
  }
  methods.push(new X509Authenticator(files.clientCa, clock, featureGates.enabled('AllowParsingUserUIDFromCertAuth')));
  methods.push(new BearerTokenAuthenticator(tokens), new WebSocketProtocolAuthenticator(tokens));
  const known = new AuthenticatedGroupAdder(new UnionRequestAuthenticator(methods));
  if (!anonymous.enabled) return known;
  return new WithFallback(known, new AnonymousAuthenticator(anonymous.conditions));
}

/** Returns the anonymous authentication that the flags configure. As in kube-apiserver, it is off if the authorizer allows everything. */
function anonymousByFlags(options: Options, logger: Logger): AnonymousConfig {
  const allAllowed = authorizationOptions(options).modes.includes('AlwaysAllow');
  if (options.anonymousAuth && allAllowed)
    logger.warn('--anonymous-auth has no effect with --authorization-mode=AlwaysAllow: requests need credentials');
  return { enabled: options.anonymousAuth && !allAllowed, conditions: [] };
}

/** Returns the address at which clients on the same host reach the server. */
const localAddress = (address: string): string => (isUnspecified(address) ? '127.0.0.1' : address);

const urlOf = (host: string, port: number): string => `https://${hostPort(host, port)}`;

/** Watches the certificate and CA files. If a file cannot be used, an error is logged and the old content stays in force. */
function watchFiles(
  server: ApiServer,
  options: Options,
  files: Files,
  context: { clock: Clock; logger: Logger; changed(tls: TlsMaterial): void },
): { stop(): void; trust(ownClientCas: string): void } {
  const { clock, logger } = context;
  const stopped = new AbortController();
  let { tls } = files;
  const apply = (): void => {
    tls = reloaded(options, files, tls);
    server.setSecureContext(tls);
    context.changed(tls);
    logger.info('reloaded the certificates');
  };
  const check = (): void => {
    try {
      const changed = [
        files.clientCaFile?.reload() === true,
        files.proxyCa?.reload() === true,
        options.tlsCertFile !== '' && readFile(options.tlsCertFile, '--tls-cert-file') !== tls.cert,
      ];
      if (changed.includes(true)) apply();
    } catch (error) {
      logger.error('cannot reload the certificates; keeping the current ones', { error: messageOf(error) });
    }
  };
  // Watch the CA files as well: until the next round, clients of a withdrawn CA are still authenticated.
  for (const file of [files.clientCaFile, files.proxyCa]) {
    if (file !== undefined) watchFile(file.path, check, clock, stopped.signal);
  }
  const round = (): void => {
    if (stopped.signal.aborted) return;
    check();
    clock.setTimer(RELOAD_MILLIS, round);
  };
  clock.setTimer(RELOAD_MILLIS, round);
  return {
    stop: () => stopped.abort(),
    trust: (ownClientCas) => {
      files.ownClientCas = ownClientCas;
      apply();
    },
  };
}

function reloaded(options: Options, files: Files, old: TlsMaterial): TlsMaterial {
  files.clientCa.replace(clientCasOf(files, files.ownClientCas));
  const clientCAs = [...files.clientCa.pems, ...(files.proxyCa?.pems ?? [])];
  return { ...(servingInFiles(options) ?? old), clientCAs };
}

function servingOf(given: KeyPem | undefined, { serving }: Leaves): KeyPem {
  const pair = given ?? serving;
  if (pair === undefined) throw new Error('there is no serving certificate');
  return pair;
}

interface Addresses {
  /** Where clients on this host reach the server. */
  readonly local: string;
  /** Where others do. */
  readonly advertised: string;
}

/** Listens, opens the store, and then the keys, which the store may have. */
async function open(context: ServerContext, { local, advertised }: Addresses) {
  const { options, clock } = context;
  const directory = new DataDirectory(resolve(options.dataDir), clock);
  const keyFiles = readKeyFiles(options);
  const cas = readCaFiles(options);
  const given = servingInFiles(options);
  const own = options.storageBackend === 'embedded' ? ownKeys({ directory, files: keyFiles }) : undefined;
  const issue = (keys: Keys): Leaves =>
    directory.issue(given ? undefined : keys['serving-ca'], keys['client-ca'], [local, advertised]);
  // Before its keys are known, a server has the certificate of its last start, or one that nobody trusts.
  const first = given ?? (own && issue(own).serving) ?? directory.lastServing() ?? temporaryPair(advertised, clock);
  const listener = await listen(context, { ...first, clientCAs: [] });
  const url = urlOf(local, listener.port);
  const store = await openStandaloneStore(context);
  const { keys, follow } =
    own === undefined
      ? await openSharedKeys(context, store.foundation, { directory, files: keyFiles })
      : { keys: own, follow: undefined };
  const leaves = issue(keys);
  const files = allFiles(cas, servingOf(given, leaves), trusted(keys['client-ca']));
  listener.server.setSecureContext(files.tls);
  const rootCa = trusted(keys['serving-ca']);
  return {
    listener,
    store,
    keys,
    files,
    follow,
    rootCa,
    url,
    kubeconfig: directory.publish(url, rootCa, leaves.admin),
  };
}

/** Starts `annex serve` in standalone mode. Resolves when it is listening and its startup work is done. */
export async function startStandalone(
  options: Options,
  root: string,
  clock: Clock = systemClock,
  logger: Logger = createLogger(loggerOptions(options)),
  extensions?: Extensions,
): Promise<StandaloneServer> {
  const local = localAddress(options.bindAddress);
  const advertised = advertisedAddress(options, logger);
  const context = serverContext(options, root, clock, logger, extensions);
  const ended = new AbortController();
  const oidc = makeOidc(options, { clock, logger, registry: context.registry, signal: ended.signal });
  const opened = await open(context, { local, advertised });
  const { listener, store, keys, files, rootCa } = opened;
  const { port, server } = listener;
  const accounts = makeServiceAccountTokens(context, keys['service-account'].key);
  const tokens = await makeTokenAuthenticator(options, accounts, oidc.tokens, { clock, logger });
  const anonymous = oidc.anonymous ?? anonymousByFlags(options, logger);
  const authenticator = makeAuthenticator(options, files, tokens, anonymous, clock);
  const serverAddress = (): string => hostPort(advertised, port);
  const authorities: Authorities = {
    rootCa,
    clientCa: signingAuthority(keys['client-ca']),
    serverUrl: () => urlOf(advertised, port),
    signer: accounts.signer,
    authenticationInfo: () => authenticationInfo(options, files),
  };
  let { cert } = files.tls;
  registerExpiryMetric(() => cert, context.registry);
  const watched = watchFiles(server, options, files, {
    clock,
    logger,
    changed: (tls) => void ({ cert } = tls),
  });
  void opened.follow?.(ended.signal, (next) => watched.trust(trusted(next['client-ca'])));
  const plane = await buildControlPlane(context, store, { serverAddress, tokens, accounts, authorities });
  const running = await runServer(context, {
    listener,
    authenticator,
    plane,
    install: (routes) => accounts.install(routes, serverAddress),
  });
  return {
    port,
    url: opened.url,
    kubeconfig: opened.kubeconfig,
    stop: () => {
      watched.stop();
      return running.stop().finally(() => ended.abort());
    },
  };
}
