import { resolve } from 'node:path';
import { DelegatedTokenAuthenticator } from '../../authentication/token/delegated.js';
import type { RequestAuthenticator } from '../../authentication/authenticator/interfaces.js';
import { AnonymousAuthenticator, WithFallback } from '../../authentication/request/anonymous.js';
import { AuthenticatedGroupAdder } from '../../authentication/request/authenticated-group.js';
import { BearerTokenAuthenticator } from '../../authentication/request/bearer-token.js';
import type { CaBundle, ClientCaPool } from '../../authentication/request/client-ca.js';
import { RequestHeaderAuthenticator, type RequestHeaderConfig } from '../../authentication/request/request-header.js';
import { UnionRequestAuthenticator } from '../../authentication/request/union.js';
import { X509Authenticator } from '../../authentication/request/x509.js';
import { FrontProxyTrust } from '../../aggregation/front-proxy.js';
import { releaseWithDefinitions } from '../../aggregation/other-release.js';
import { ForgedHeaderCount } from '../../aggregation/trusted-headers.js';
import { readClusterUid } from '../../aggregation/cluster-uid.js';
import { ClusterClient } from '../../client/cluster-client.js';
import type { Backend } from '../../storage/interfaces.js';
import { type Clock, systemClock } from '../../util/clock.js';
import { featureGates } from '../../util/feature-gates.js';
import { createLogger, type Logger } from '../../util/logger.js';
import { messageOf } from '../../util/error-message.js';
import { buildAggregatedPlane } from './aggregated-plane.js';
import { AggregationMetrics, registerExpiryMetric } from '../metrics/aggregation-metrics.js';
import { linkCallbacks } from '../health/cluster-links.js';
import { makeDataDirectory, StartError } from '../certificates/data-directory.js';
import { renewCertificates } from '../certificates/certificate-renewal.js';
import { reviewTtl } from '../options/aggregation-options.js';
import { loggerOptions } from '../options/logging-options.js';
import type { Options } from '../options/options.js';
import { listen, runServer } from './run.js';
import { serverContext } from './server-context.js';
import {
  type IsCaPublished,
  type ServingCertificates,
  SharedAuthority,
  temporaryPair,
} from '../certificates/serving-certificates.js';
import { ServingFiles } from '../certificates/serving-files.js';

export interface AggregatedServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Returns the clients that the flags configure. Throws StartError if one cannot be used. */
function clusterClients(
  options: Options,
  clock: Clock,
): { main: ClusterClient; authn: ClusterClient; authz: ClusterClient } {
  const load = (name: string, path: string): ClusterClient => {
    try {
      return ClusterClient.load(path, clock);
    } catch (error) {
      throw new StartError(`--${name}: cannot be used to reach the cluster: ${messageOf(error)}`);
    }
  };
  const main = load('kubeconfig', options.kubeconfig);
  const { authenticationKubeconfig, authorizationKubeconfig } = options;
  return {
    main,
    authn: authenticationKubeconfig === '' ? main : load('authentication-kubeconfig', authenticationKubeconfig),
    authz: authorizationKubeconfig === '' ? main : load('authorization-kubeconfig', authorizationKubeconfig),
  };
}

/** A CA pool that the cluster may replace at any time. While it has no CA, no certificate is trusted. */
class DynamicClientCaPool implements ClientCaPool {
  private last: CaBundle | undefined;
  private version = 0;

  constructor(private readonly current: () => CaBundle | undefined) {}

  get generation(): number {
    if (this.current() !== this.last) {
      this.last = this.current();
      this.version++;
    }
    return this.version;
  }

  get pems(): readonly string[] {
    return this.current()?.pems ?? [];
  }

  verify(chain: Parameters<ClientCaPool['verify']>[0], now: number): number {
    const pool = this.current();
    if (pool === undefined) throw new Error('x509: certificate signed by unknown authority');
    return pool.verify(chain, now);
  }
}

function authenticators(
  trust: FrontProxyTrust,
  client: ClusterClient,
  { delegation, links }: AggregationMetrics,
  options: Options,
  clock: Clock,
): RequestAuthenticator {
  const tokens = new DelegatedTokenAuthenticator({
    clock,
    ttl: reviewTtl(options, 'authentication-token-webhook-cache-ttl', options.authenticationTokenWebhookCacheTtl),
    post: (review) => client.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review),
    observe: (outcome) => delegation.tokenReview(outcome),
  });
  const config = (): RequestHeaderConfig => trust.config;
  const fromProxy = new RequestHeaderAuthenticator(new DynamicClientCaPool(() => trust.proxy), config, clock);
  const uidFromCertificates = featureGates.enabled('AllowParsingUserUIDFromCertAuth');
  const union = new UnionRequestAuthenticator([
    new ForgedHeaderCount(fromProxy, config, (reason, message) => {
      delegation.forged(reason);
      // For any other reason the headers are forged: the client is not the front proxy.
      if (reason === 'expired' || reason === 'name') links.logUntrustedClient(message);
    }),
    new X509Authenticator(new DynamicClientCaPool(() => trust.clients), clock, uidFromCertificates),
    new BearerTokenAuthenticator(tokens),
  ]);
  const known = new AuthenticatedGroupAdder(union);
  return options.anonymousAuth ? new WithFallback(known, new AnonymousAuthenticator()) : known;
}

/** Returns the serving certificates in the files that the flags name, or undefined if they are in the store. */
function certificatesInFiles(options: Options, clock: Clock): ServingCertificates | undefined {
  const { tlsCertFile, tlsPrivateKeyFile, serviceCaFile } = options;
  if (tlsCertFile === '') return undefined;
  return new ServingFiles({ cert: tlsCertFile, key: tlsPrivateKeyFile, authorities: serviceCaFile }, clock);
}

/** Opens the certificates for the DNS names of the Service, by which kube-apiserver calls it. */
function openCertificates(options: Options, backend: Backend, clock: Clock): Promise<ServingCertificates> {
  const { serviceName, serviceNamespace } = options;
  const service = `${serviceName}.${serviceNamespace}`;
  const names = [`${service}.svc`, service, `${service}.svc.cluster.local`, 'localhost', '127.0.0.1', '::1'];
  return SharedAuthority.open(backend, clock, names);
}

async function loadTrust(client: ClusterClient): Promise<FrontProxyTrust> {
  const trust = new FrontProxyTrust();
  try {
    await trust.load(client);
    return trust;
  } catch (error) {
    throw new StartError(
      `the cluster's front-proxy configuration cannot be read: ${messageOf(error)}; the identity in use needs the Role extension-apiserver-authentication-reader in kube-system`,
    );
  }
}

/** Returns the identity of the cluster, to which a database of MongoDB belongs. */
async function clusterUidOf(client: ClusterClient): Promise<string> {
  try {
    return await readClusterUid(client);
  } catch (error) {
    throw new StartError(
      `the cluster cannot be identified by its namespace kube-system: ${messageOf(error)}; the identity in use needs the right to get namespaces`,
    );
  }
}

/** Throws StartError if another release serves ResourceDefinitions: users would create them there, and take them for those of this release. */
async function assertOnlyRelease(client: ClusterClient, options: Options): Promise<void> {
  if (!options.registerDefinitions) return;
  const own = { namespace: options.serviceNamespace, name: options.serviceName };
  // A cluster that does not answer is reported later, and does not keep a replica from starting.
  const other = await releaseWithDefinitions(client, own).catch(() => undefined);
  if (other === undefined) return;
  throw new StartError(
    `the APIService v1.kubeannex.io belongs to another release of Annex, the Service ${other}: delete it if that release is gone, or start this one with --register-definitions=false and manage its ResourceDefinitions at its own Service`,
  );
}

/** Starts `annex serve` as an aggregated API server of a cluster. Resolves when it is listening and its startup work is done. */
export async function startAggregated(
  options: Options,
  root: string,
  clock: Clock = systemClock,
  logger: Logger = createLogger(loggerOptions(options)),
): Promise<AggregatedServer> {
  const clients = clusterClients(options, clock);
  const stop = new AbortController();
  if (options.storageBackend === 'embedded') makeDataDirectory(resolve(options.dataDir));
  const trust = await loadTrust(clients.authn);
  const clusterUid = options.storageBackend === 'mongodb' ? await clusterUidOf(clients.main) : '';
  await assertOnlyRelease(clients.main, options);
  const context = serverContext(options, root, clock, logger);
  const metrics = new AggregationMetrics(context);
  const { links } = metrics;
  const files = certificatesInFiles(options, clock);
  const authorities = (): string[] => [...(trust.proxy?.pems ?? []), ...(trust.clients?.pems ?? [])];
  // Kubelet probes accept any certificate. kube-apiserver does not, and answers 503 itself until the store is open.
  const first = files?.pair ?? temporaryPair(options.serviceName, clock);
  const listener = await listen(context, { ...first, clientCAs: authorities() });
  const plane = await buildAggregatedPlane(context, {
    metrics,
    clients,
    clusterUid,
    openCertificates: (backend) =>
      files === undefined ? openCertificates(options, backend, clock) : Promise.resolve(files),
    signal: stop.signal,
  });
  registerExpiryMetric(() => plane.certificates.pair.cert, context.registry);
  const tls = () => ({
    ...plane.certificates.pair,
    clientCAs: authorities(),
  });
  const apply = (): void => listener.server.setSecureContext(tls());
  apply();
  const renewed = (): void => {
    apply();
    plane.resyncApiServices();
  };
  const isCaPublished: IsCaPublished = (authority) => plane.isCaPublished(authority);
  void renewCertificates(plane.certificates, { clock, logger, links, signal: stop.signal, renewed, isCaPublished });
  void trust.follow(clients.authn, stop.signal, { changed: apply, ...linkCallbacks(links, 'front-proxy') });
  const running = await runServer(context, {
    listener,
    authenticator: authenticators(trust, clients.authn, metrics, options, clock),
    plane,
  });
  return {
    port: listener.port,
    stop: async () => {
      stop.abort();
      await running.stop();
      for (const client of new Set(Object.values(clients))) client.close();
    },
  };
}
