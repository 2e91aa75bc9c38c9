import { hostname } from 'node:os';
import { connect } from 'node:tls';
import type { ApiServices } from '../../aggregation/api-services.js';
import { LostPeers, type PeerAnswer } from '../../aggregation/lost-peers.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { linkCallbacks, type ClusterLinks } from '../health/cluster-links.js';
import type { Clock } from '../../util/clock.js';
import type { ServerContext } from './server-context.js';

/** How long an answer through kube-apiserver may take. */
const REACHED_MILLIS = 1_500;

/** Connects. The kernel does so for a process that hangs, too; only a process that runs says something. Whoever refuses is there. */
function ask(host: string, port: number, millis: number, clock: Clock): Promise<PeerAnswer> {
  return new Promise((resolve) => {
    // Nothing is sent, so it does not matter who answers.
    const socket = connect({ host, port, rejectUnauthorized: false });
    let connected = false;
    const end = (answer: PeerAnswer): void => {
      timer.cancel();
      socket.destroy();
      resolve(answer);
    };
    const timer = clock.setTimer(millis, () => end(connected ? 'hangs' : 'silent'));
    socket.once('connect', () => (connected = true));
    socket.once('secureConnect', () => end('answers'));
    socket.once('error', (error: Error) =>
      end(connected || ('code' in error && error.code === 'ECONNREFUSED') ? 'answers' : 'silent'),
    );
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
    ask: (address, port, millis) => ask(address, port, millis, clock),
    reconnect: () => services.reconnect(),
    works: () => services.isReached(REACHED_MILLIS),
    lost: (pod) => logger.warn('another replica does not answer; taking it out of the Service', { pod }),
    failed: (error) => link.broken(error),
    restored: () => link.restored(),
  });
  void peers.run(signal);
}
