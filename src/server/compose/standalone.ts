import { messageOf } from '../../util/error-message.js';
import { watchFile } from '../../util/files/watch-file.js';
import { join, resolve } from 'node:path';
import { createPrivateKey, X509Certificate } from 'node:crypto';
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
import type { SigningAuthority } from '../../pki/sign-request.js';
import { buildControlPlane } from './control-plane.js';
import { type Credentials, DataDirectory, parsePair, readFile, StartError } from '../certificates/data-directory.js';
import { makeOidc } from './access/oidc.js';
import { advertisedAddress, hostPort, isUnspecified } from '../http/host-address.js';
import { loggerOptions } from '../options/logging-options.js';
import type { Options } from '../options/options.js';
import { listen, runServer } from './run.js';
import { type Extensions, serverContext } from './server-context.js';
import { makeServiceAccountTokens } from './access/service-account-tokens.js';
import { makeTokenAuthenticator } from './access/token-authenticators.js';

const RELOAD_MILLIS = 60_000;

export interface StandaloneServer {
  readonly port: number;
  readonly url: string;
  readonly kubeconfig: string;
  /** Stops gracefully: reports unready, waits for the shutdown delay, ends watches, drains requests, and closes the store. */
  stop(): Promise<void>;
}

interface Files {
  readonly tls: TlsMaterial;
  readonly clientCa: CaBundle;
  readonly clientCaFile: CaFile | undefined;
  readonly proxyCa: CaFile | undefined;
}

function caFile(path: string, flag: string): CaFile | undefined {
  if (path === '') return undefined;
  try {
    return new CaFile(path);
  } catch (error) {
    throw new StartError(`--${flag}: ${path} cannot be used: ${messageOf(error)}`);
  }
}

function readFiles(options: Options, credentials: Credentials): Files {
  const own = new CaBundle(credentials.clientCaPem);
  const clientCaFile = caFile(options.clientCaFile, 'client-ca-file');
  // The CA of the admin kubeconfig stays trusted in addition to those of the flag.
  if (clientCaFile !== undefined) own.replace([credentials.clientCaPem, ...clientCaFile.pems].join(''));
  const proxyCa = caFile(options.requestheaderClientCaFile, 'requestheader-client-ca-file');
  const cert = options.tlsCertFile === '' ? credentials.servingCert : readFile(options.tlsCertFile, '--tls-cert-file');
  const key =
    options.tlsPrivateKeyFile === ''
      ? credentials.servingKey
      : readFile(options.tlsPrivateKeyFile, '--tls-private-key-file');
  parsePair(cert, key, options.tlsCertFile, options.tlsPrivateKeyFile);
  return {
    tls: { cert, key, clientCAs: [...own.pems, ...(proxyCa?.pems ?? [])] },
    clientCa: own,
    clientCaFile,
    proxyCa,
  };
}

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
): () => void {
  const { clock, logger } = context;
  const stopped = new AbortController();
  let { tls } = files;
  const check = (): void => {
    try {
      const changed = [
        files.clientCaFile?.reload() === true,
        files.proxyCa?.reload() === true,
        options.tlsCertFile !== '' && readFile(options.tlsCertFile, '--tls-cert-file') !== tls.cert,
      ];
      if (changed.includes(true)) {
        tls = reloaded(options, files, tls);
        server.setSecureContext(tls);
        context.changed(tls);
        logger.info('reloaded the certificates');
      }
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
  return () => stopped.abort();
}

function reloaded(options: Options, files: Files, old: TlsMaterial): TlsMaterial {
  const own = files.clientCa.pems[0] ?? '';
  if (files.clientCaFile !== undefined) files.clientCa.replace([own, ...files.clientCaFile.pems].join(''));
  const clientCAs = [...files.clientCa.pems, ...(files.proxyCa?.pems ?? [])];
  if (options.tlsCertFile === '') return { ...old, clientCAs };
  const cert = readFile(options.tlsCertFile, '--tls-cert-file');
  const key = readFile(options.tlsPrivateKeyFile, '--tls-private-key-file');
  parsePair(cert, key, options.tlsCertFile, options.tlsPrivateKeyFile);
  return { cert, key, clientCAs };
}

const END_OF_CERTIFICATE = /-----END CERTIFICATE-----\s*/;

/** Returns the CA certificates after the serving certificate in a PEM bundle, or the serving certificate itself if it is the only one. */
function issuersOf(pem: string): string {
  const blocks = pem.split(END_OF_CERTIFICATE).filter((block) => block.includes('BEGIN CERTIFICATE'));
  const shown = blocks.length > 1 ? blocks.slice(1) : blocks;
  return shown.map((block) => `${block}-----END CERTIFICATE-----\n`).join('');
}

const clientCaOf = ({ clientCaKeyFile, clientCaPem }: Credentials): SigningAuthority => ({
  key: createPrivateKey(readFile(clientCaKeyFile, '--data-dir')),
  certificate: new X509Certificate(clientCaPem),
});

/** Starts `annex serve` in standalone mode. Resolves when it is listening and its startup work is done. */
export async function startStandalone(
  options: Options,
  root: string,
  clock: Clock = systemClock,
  logger: Logger = createLogger(loggerOptions(options)),
  extensions?: Extensions,
): Promise<StandaloneServer> {
  const directory = new DataDirectory(resolve(options.dataDir), clock);
  const local = localAddress(options.bindAddress);
  const advertised = advertisedAddress(options, logger);
  const names = [local, advertised];
  const credentials = directory.prepare(urlOf(local, options.securePort), names);
  const files = readFiles(options, credentials);
  const context = serverContext(options, root, clock, logger, extensions);
  const accounts = makeServiceAccountTokens(context, directory.path);
  const ended = new AbortController();
  const oidc = makeOidc(options, { clock, logger, registry: context.registry, signal: ended.signal });
  const tokens = await makeTokenAuthenticator(options, accounts, oidc.tokens, { clock, logger });
  const anonymous = oidc.anonymous ?? anonymousByFlags(options, logger);
  const authenticator = makeAuthenticator(options, files, tokens, anonymous, clock);
  const listener = await listen(context, files.tls);
  const { port, server } = listener;
  const serverAddress = (): string => hostPort(advertised, port);
  const authorities: Authorities = {
    rootCa: options.tlsCertFile === '' ? credentials.caPem : issuersOf(String(files.tls.cert)),
    clientCa: clientCaOf(credentials),
    serverUrl: () => urlOf(advertised, port),
    signer: accounts.signer,
    authenticationInfo: () => authenticationInfo(options, files),
  };
  const url = urlOf(local, port);
  if (port !== options.securePort) directory.prepare(url, names);
  let { cert } = files.tls;
  registerExpiryMetric(() => cert, context.registry);
  const changed = (tls: TlsMaterial): void => void ({ cert } = tls);
  const unwatch = watchFiles(server, options, files, { clock, logger, changed });
  const plane = await buildControlPlane(context, { serverAddress, tokens, accounts, authorities });
  const running = await runServer(context, {
    listener,
    authenticator,
    plane,
    install: (routes) => accounts.install(routes, serverAddress),
  });
  return {
    port,
    url,
    kubeconfig: join(directory.path, 'admin.kubeconfig'),
    stop: () => {
      unwatch();
      return running.stop().finally(() => ended.abort());
    },
  };
}
