import { readClusterUid } from '../aggregation/cluster-uid.js';
import { ClusterClient } from '../client/cluster-client.js';
import type { Options } from '../server/options/options.js';
import { KubeApiservers } from '../adoption/cluster/kube-apiservers.js';
import type { Clock } from '../util/clock.js';
import { servedAuthorities } from './authorities.js';
import { checkAdoptions } from './adoptions.js';
import { checkAdmission } from './admission.js';
import { checkCertificates } from './certificates.js';
import {
  AUTHENTICATION_RIGHTS,
  AUTHORIZATION_RIGHTS,
  checkAccessReview,
  checkApiServices,
  checkFrontProxy,
  checkReachable,
  checkRights,
  checkTokenReview,
  type Cluster,
  type ServerFacts,
  mainRights,
  type ServiceOptions,
} from './cluster.js';
import { checkDiscovery } from './discovery.js';
import { checkFiles } from './files.js';
import { checkLeftOvers } from './left-overs.js';
import { checkRegistration } from './registration.js';
import { type Finding, skipped, failed } from './finding.js';
import { checkStore, checkStoreOwner } from './store.js';

/** The clients of `annex serve`, which may share one identity. */
export interface Clients {
  readonly main: Cluster;
  readonly authn: Cluster;
  readonly authz: Cluster;
  readonly server: string;
  readonly servers: Pick<KubeApiservers, 'everywhere'>;
  close(): void;
}

/** Checks every link between the store and the cluster's users, in order; a broken one does not prevent the other checks. */
export async function* examine(options: Options, clock: Clock): AsyncGenerator<Finding> {
  yield await checkStore(options, clock);
  yield checkFiles(options);
  yield checkCertificates(options, clock);
  const clients = loadClients(options, clock);
  if ('verdict' in clients) {
    yield clients;
    yield skipped('everything else', 'no client for it');
    return;
  }
  try {
    const owner = await checkStoreOwner(options, () => readClusterUid(clients.main));
    if (owner !== undefined) yield owner;
    const known = { now: clock.now(), authorities: await servedAuthorities(options, clock) };
    yield* examineCluster(clients, options, known);
  } finally {
    clients.close();
  }
}

/** Like `examine`, but checks only the cluster. */
export async function* examineCluster(
  clients: Clients,
  service: ServiceOptions,
  known: ServerFacts,
): AsyncGenerator<Finding> {
  const { main, authn, authz, server, servers } = clients;
  const reachable = await checkReachable(main, server);
  yield reachable;
  if (reachable.verdict === 'failed') {
    yield skipped('everything else', 'requires a reachable cluster');
    return;
  }
  yield await checkRights('rights', main, mainRights(service));
  yield* await checkAdmission(main, service);
  yield await checkRights('rights to authenticate', authn, AUTHENTICATION_RIGHTS);
  yield await checkRights('rights to authorize', authz, AUTHORIZATION_RIGHTS);
  yield* await checkApiServices(main, service, known);
  yield await checkRegistration(main);
  yield await checkAdoptions(main);
  yield await checkLeftOvers(main);
  yield await checkDiscovery(main, servers);
  yield await checkFrontProxy(authn, known.now);
  yield await checkTokenReview(authn);
  yield await checkAccessReview(authz);
}

function loadClients(options: Options, clock: Clock): Clients | Finding {
  const { kubeconfig, authenticationKubeconfig, authorizationKubeconfig } = options;
  const loaded: ClusterClient[] = [];
  const load = (path: string): ClusterClient => {
    const client = ClusterClient.load(path, clock);
    loaded.push(client);
    return client;
  };
  try {
    const main = load(kubeconfig);
    const authn = authenticationKubeconfig === '' ? main : load(authenticationKubeconfig);
    const authz = authorizationKubeconfig === '' ? main : load(authorizationKubeconfig);
    const servers = new KubeApiservers({ client: main, clock, addresses: options.clusterApiServers });
    const close = (): void => {
      servers.close();
      for (const client of loaded) client.close();
    };
    return { main, authn, authz, server: main.server, servers, close };
  } catch (error) {
    for (const client of loaded) client.close();
    return failed(
      'cluster',
      error,
      'set --kubeconfig to a kubeconfig with an https server, or run in a pod with a service account',
    );
  }
}
