import { messageOf } from '../util/error-message.js';
import { join, resolve } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { newGenericNotFound, newMethodNotAllowed } from '../apimachinery/errors.js';
import type { RequestAuthenticator, TokenAuthenticator } from '../authentication/authenticator/interfaces.js';
import type { AnonymousConfig } from '../authentication/oidc/types.js';
import { AnonymousAuthenticator, WithFallback } from '../authentication/request/anonymous.js';
import { AuthenticatedGroupAdder } from '../authentication/request/authenticated-group.js';
import { BearerTokenAuthenticator } from '../authentication/request/bearer-token.js';
import { CaBundle, CaFile } from '../authentication/request/client-ca.js';
import { RequestHeaderAuthenticator } from '../authentication/request/request-header.js';
import { UnionRequestAuthenticator } from '../authentication/request/union.js';
import { WebSocketProtocolAuthenticator } from '../authentication/request/websocket-protocol.js';
import { X509Authenticator } from '../authentication/request/x509.js';
import type { Handler } from '../endpoints/http.js';
import { ChainMetrics } from '../endpoints/filters/metrics.js';
import { send } from '../endpoints/filters/status.js';
import { type Clock, sleep, systemClock } from '../util/clock.js';
import { featureGates } from '../util/feature-gates.js';
import { createLogger, type Logger } from '../util/logger.js';
import { CellGauge, metricsRegistry } from '../util/metrics.js';
import { TimerWheel } from '../util/timer-wheel.js';
import { type ApiServer, createServer, type TlsMaterial } from './api-server.js';
import { selectorsOf } from './authorization.js';
import { makeAudit } from './audit.js';
import { authoritiesOf } from './controllers.js';
import { buildControlPlane, type ControlPlane } from './control-plane.js';
import { type Credentials, DataDirectory, parsePair, readFile, StartError } from './data-directory.js';
import { Health, LogCheck, pingCheck, PostStartHook, ShutdownCheck } from './health.js';
import { makeOidc } from './oidc.js';
import type { Options } from './options.js';
import { makeServiceAccountTokens } from './service-account-tokens.js';
import { makeTokenAuthenticator } from './token-authenticators.js';
import { annexVersion, versionInfo } from './version.js';

const RELOAD_MILLIS = 60_000;
const DRAIN_MILLIS = 60_000;

export interface StandaloneServer {
  readonly port: number;
  readonly url: string;
  readonly kubeconfig: string;
  /** Graceful stop: not ready, delay, watches ended, requests finished, store closed. */
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
  // The CA of the admin kubeconfig stays trusted beside those of the flag.
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

function makeAuthenticator(
  options: Options,
  files: Files,
  tokens: TokenAuthenticator,
  anonymous: AnonymousConfig | undefined,
  clock: Clock,
): RequestAuthenticator {
  const methods: RequestAuthenticator[] = [];
  if (files.proxyCa !== undefined) {
    const headers = {
      usernameHeaders: options.requestheaderUsernameHeaders,
      uidHeaders: options.requestheaderUidHeaders,
      groupHeaders: options.requestheaderGroupHeaders,
      extraHeaderPrefixes: options.requestheaderExtraHeadersPrefix,
      allowedNames: options.requestheaderAllowedNames,
    };
    methods.push(new RequestHeaderAuthenticator(files.proxyCa, () => headers, clock));
  }
  methods.push(new X509Authenticator(files.clientCa, clock, featureGates.enabled('AllowParsingUserUIDFromCertAuth')));
  methods.push(new BearerTokenAuthenticator(tokens, []), new WebSocketProtocolAuthenticator(tokens, []));
  const known = new AuthenticatedGroupAdder(new UnionRequestAuthenticator(methods));
  if (!(anonymous?.enabled ?? options.anonymousAuth)) return known;
  return new WithFallback(known, new AnonymousAuthenticator(anonymous?.conditions));
}

const json = (value: unknown): Handler => {
  const body = JSON.stringify(value, undefined, 2);
  return (_context, _request, response) => {
    send(response, 200, 'application/json', body);
  };
};

function installCommon(server: ApiServer, version: string, registry: Registry): void {
  const info = json(versionInfo(version));
  const versionHandler: Handler = (context, request, response) => {
    const { path } = context.info;
    if (path !== '/version' && path !== '/version/') throw newGenericNotFound();
    if (request.method !== 'GET') throw newMethodNotAllowed();
    return info(context, request, response);
  };
  server.register('/version', versionHandler);
  server.registerPrefix('/version/', versionHandler);
  server.register('/metrics', async (_context, _request, response) => {
    // Merged anew: what was registered after this has to be in it.
    const all = Registry.merge([metricsRegistry, registry]);
    send(response, 200, all.contentType, await all.metrics());
  });
}

function registerProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  const gauge = {
    name: 'kubernetes_feature_enabled',
    help: 'Stage and state of each feature gate.',
    labels: ['name', 'stage'],
  };
  new CellGauge(gauge, registry, (metric) => {
    for (const { name, stage, enabled } of featureGates.entries()) metric.cell(name, stage).value = enabled ? 1 : 0;
  });
}

function installHealth(
  server: ApiServer,
  plane: ControlPlane,
  hooks: readonly PostStartHook[],
  shutdown: ShutdownCheck,
  context: { clock: Clock; logger: Logger; registry: Registry; livezGrace: number },
): void {
  const health = new Health(context.clock, context.logger, context.registry);
  const always = ['healthz', 'livez', 'readyz'] as const;
  health.add(pingCheck, always);
  health.add(new LogCheck(context.logger, context.clock), always);
  for (const check of plane.checks) health.add(check, check.name === 'etcd' ? always : ['readyz']);
  for (const hook of hooks) health.add(hook, always, context.livezGrace);
  health.add(
    {
      name: 'autoregister-completion',
      check: () => {
        for (const hook of hooks) hook.check();
      },
    },
    always,
    context.livezGrace,
  );
  health.add(shutdown, ['readyz']);
  health.install(server);
}

const hostOf = (address: string): string => (address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address);

const urlOf = (address: string, port: number): string => {
  const host = hostOf(address);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

/** Follows certificate and CA files; a file that cannot be used is logged and the old content stays in force. */
function watchFiles(
  server: ApiServer,
  options: Options,
  files: Files,
  context: { clock: Clock; logger: Logger },
): () => void {
  let stopped = false;
  let { tls } = files;
  const check = (): void => {
    if (stopped) return;
    try {
      const changed = [
        files.clientCaFile?.reload() === true,
        files.proxyCa?.reload() === true,
        options.tlsCertFile !== '' && readFile(options.tlsCertFile, '--tls-cert-file') !== tls.cert,
      ];
      if (changed.includes(true)) {
        tls = reloaded(options, files, tls);
        server.setSecureContext(tls);
        context.logger.info('certificates reloaded');
      }
    } catch (error) {
      context.logger.error('certificates cannot be reloaded', {
        error: messageOf(error),
      });
    }
    context.clock.setTimer(RELOAD_MILLIS, check);
  };
  context.clock.setTimer(RELOAD_MILLIS, check);
  return () => {
    stopped = true;
  };
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

function listenError(error: unknown, options: Options): StartError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const where = `${options.bindAddress} port ${options.securePort}`;
  if (code === 'EADDRINUSE') return new StartError(`--secure-port: ${where} is in use by another process`);
  if (code === 'EACCES') return new StartError(`--secure-port: not permitted to listen on ${where}`);
  if (code === 'EADDRNOTAVAIL')
    return new StartError(`--bind-address: ${options.bindAddress} is not an address of this host`);
  return new StartError(`cannot listen on ${where}: ${messageOf(error)}`);
}

/** What every mode brings to a server. */
export interface RunOptions {
  readonly options: Options;
  /** The folder of the program, for its version. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly metrics: ChainMetrics;
  readonly tls: TlsMaterial;
  readonly authenticator: RequestAuthenticator;
  readonly plane: ControlPlane;
  /** Registers what the mode answers beside the control plane. */
  install?(server: ApiServer): void;
}

export interface RunningServer {
  readonly server: ApiServer;
  readonly port: number;
  /** Work after the listening; ready when all is done. */
  start(): Promise<void>;
  /** Graceful stop: not ready, delay, watches ended, requests finished, store closed. */
  stop(): Promise<void>;
}

/** Puts the chain before a control plane and listens. */
export async function runServer(context: RunOptions): Promise<RunningServer> {
  const { options, root, clock, logger, registry, metrics, authenticator, plane } = context;
  const audit = makeAudit(options, { clock, logger, registry });
  registerProcessMetrics(registry);
  const server = createServer({
    tls: context.tls,
    http2MaxStreamsPerConnection: options.http2MaxStreams === 0 ? 250 : options.http2MaxStreams,
    chain: {
      authenticator,
      authorizer: plane.authorizer,
      clock,
      wheel: new TimerWheel(clock),
      logger,
      gates: featureGates,
      metrics,
      writeStatus: plane.writeStatus,
      requestTimeout: options.requestTimeout,
      maxRequestsInFlight: options.maxRequestsInflight,
      maxMutatingRequestsInFlight: options.maxMutatingRequestsInflight,
      goawayChance: options.goawayChance,
      random: Math.random,
      strictTransportSecurity: options.strictTransportSecurity.join('; '),
      audit: audit?.hook,
      parseSelectors: selectorsOf,
    },
  });
  const hooks = plane.hooks.map((hook) => new PostStartHook(hook.name, () => hook.run()));
  const shutdown = new ShutdownCheck();
  server.setResourceHandler(plane.resourceHandler);
  installCommon(server, annexVersion(root), registry);
  plane.install(server);
  context.install?.(server);
  installHealth(server, plane, hooks, shutdown, { clock, logger, registry, livezGrace: options.livezGracePeriod });
  let port: number;
  try {
    ({ port } = await server.listen(options.securePort, options.bindAddress));
  } catch (error) {
    await plane.close();
    throw listenError(error, options);
  }
  return {
    server,
    port,
    start: async () => {
      for (const hook of hooks) await hook.start();
    },
    stop: async () => {
      shutdown.begin();
      await sleep(clock, options.shutdownDelayDuration);
      plane.endWatches();
      await Promise.race([server.drain(), sleep(clock, Math.max(DRAIN_MILLIS, options.requestTimeout))]);
      server.destroy();
      await plane.close();
      audit?.close();
    },
  };
}

/** Starts `annex serve` in standalone mode; resolves when it listens and its start-up work is done. */
export async function startStandalone(
  options: Options,
  root: string,
  clock: Clock = systemClock,
  logger: Logger = createLogger(options.verbosity),
): Promise<StandaloneServer> {
  const directory = new DataDirectory(resolve(options.dataDir), clock);
  const names = ['0.0.0.0', '::'].includes(options.bindAddress) ? [] : [options.bindAddress];
  const credentials = directory.prepare(urlOf(options.bindAddress, options.securePort), names);
  const files = readFiles(options, credentials);
  const accounts = makeServiceAccountTokens(options, directory.path, clock, logger);
  const registry = new Registry();
  const ended = new AbortController();
  const oidc = makeOidc(options, { clock, logger, registry, signal: ended.signal });
  const tokens = await makeTokenAuthenticator(options, accounts, oidc.tokens, { clock, logger });
  const authenticator = makeAuthenticator(options, files, tokens, oidc.anonymous, clock);
  const metrics = new ChainMetrics(registry);
  const serverAddress = urlOf(options.bindAddress, options.securePort).replace('https://', '');
  const authorities = authoritiesOf(
    credentials,
    readFile(credentials.clientCaKeyFile, '--data-dir'),
    urlOf(options.bindAddress, options.securePort),
    options.tlsCertFile === '' ? undefined : String(files.tls.cert),
    accounts.signer,
  );
  const plane = await buildControlPlane({
    options,
    clock,
    logger,
    metrics,
    registry,
    serverAddress,
    tokens,
    accounts,
    authorities,
  });
  const running = await runServer({
    options,
    root,
    clock,
    logger,
    registry,
    metrics,
    tls: files.tls,
    authenticator,
    plane,
    install: (server) => {
      accounts.install(server, serverAddress);
    },
  });
  const { port, server } = running;
  const url = urlOf(options.bindAddress, port);
  if (port !== options.securePort) directory.prepare(url, names);
  const unwatch = watchFiles(server, options, files, { clock, logger });
  await running.start();
  return {
    port,
    url,
    kubeconfig: join(directory.path, 'admin.kubeconfig'),
    stop: () => {
      unwatch();
      return running.stop().finally(() => {
        ended.abort();
      });
    },
  };
}
