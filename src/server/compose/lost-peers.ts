import { connect } from 'node:net';
import { hostname } from 'node:os';
import type { ApiServices } from '../../aggregation/api-services.js';
import { LostPeers } from '../../aggregation/lost-peers.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { linkCallbacks, type ClusterLinks } from '../health/cluster-links.js';
import type { ServerContext } from './server-context.js';

/** How long an answer through kube-apiserver may take. */
const REACHED_MILLIS = 1_500;

/** Connects. A refusal is an answer: whoever refuses is there. */
function answers(host: string, port: number, millis: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: millis });
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', (error) => end('code' in error && error.code === 'ECONNREFUSED'));
  });
}

/** Looks after the other replicas, if there can be any, until the signal aborts. */
export function lookAfterPeers(
  { options, clock, logger }: Pick<ServerContext, 'options' | 'clock' | 'logger'>,
  client: ClusterClient,
  links: ClusterLinks,
  services: Pick<ApiServices, 'reconnect' | 'isReached'>,
  signal: AbortSignal,
): void {
  const { serviceNamespace: namespace, serviceName: name } = options;
  if (options.storageBackend === 'embedded') return;
  const link = linkCallbacks(links, 'replicas');
  const peers = new LostPeers({
    client,
    clock,
    service: { namespace, name },
    self: hostname(),
    answers,
    reconnect: () => services.reconnect(),
    works: () => services.isReached(REACHED_MILLIS),
    lost: (pod) => logger.warn('another replica does not answer; taking it out of the Service', { pod }),
    failed: (error) => link.broken(error),
    restored: () => link.restored(),
  });
  void peers.run(signal);
}
