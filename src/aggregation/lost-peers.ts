import { isObject, type JsonObject, objectAt, objectsOf, stringAt, stringsOf } from '../apimachinery/json/json.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { type Clock, sleep } from '../util/clock.js';

const LOOK_MILLIS = 1_000;
/** The interval at which the addresses of the peers are read. */
const READ_MILLIS = 5_000;
/** A connection that is neither made nor refused for this long says nothing; this many in a row say that the peer is gone. */
const SILENCE_MILLIS = 1_000;
const SILENCES = 3;
/** A replica that accepts connections and says nothing may be busy: this many in a row, or silences, say that it hangs. */
const HANGS = 5;
/** How long the cluster may take to take the address out. */
const OUT_MILLIS = 10_000;
/** The time for each node to follow. */
const SETTLE_MILLIS = 1_500;
/** A new connection may still lead to the lost replica, if a node is late. */
const ATTEMPTS = 6;

interface Peer {
  readonly pod: string;
  readonly uid: string;
  readonly address: string;
  readonly port: number;
}

/** What came of an attempt to connect: an answer (be it a refusal), a connection on which nothing was said, or nothing at all. */
export type PeerAnswer = 'answers' | 'hangs' | 'silent';

interface Seen {
  /** The peer has answered since this replica knows it. One that never did may be behind a network policy. */
  answered: boolean;
  silences: number;
  /** How often in a row it has not answered, silences included. */
  failures: number;
}

export interface LostPeersOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly clock: Clock;
  readonly service: { readonly namespace: string; readonly name: string };
  /** The name of the pod of this replica. */
  readonly self: string;
  /** Connects, and reports what came of it within the time. */
  ask(address: string, port: number, millis: number): Promise<PeerAnswer>;
  /** Makes kube-apiserver connect anew. */
  reconnect(): Promise<void>;
  /** Reports whether kube-apiserver reaches a replica. */
  works(): Promise<boolean>;
  lost(pod: string): void;
  failed(error: unknown): void;
  restored(): void;
}

/**
 * Notices that another replica hangs or that its node is gone, long before the cluster does, and makes kube-apiserver let go of its connection to it
 * (docs/design/aggregation.md, "A node that is lost").
 */
export class LostPeers {
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly options: LostPeersOptions) {}

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    let peers: readonly Peer[] = [];
    for (let readAt = -Infinity; !signal.aborted;) {
      await sleep(clock, LOOK_MILLIS, signal);
      try {
        if (clock.monotonic() - readAt >= READ_MILLIS) {
          peers = await this.read();
          readAt = clock.monotonic();
          this.options.restored();
        }
        const silent = await this.silent(peers);
        if (silent.length === 0) continue;
        // A pod that has ended in the meantime was not lost.
        const there = (await this.read()).map(({ uid }) => uid);
        for (const peer of silent) if (there.includes(peer.uid)) await this.takeOut(peer, signal);
      } catch (error) {
        this.options.failed(error);
        await sleep(clock, READ_MILLIS, signal);
      }
    }
  }

  /** Returns the other replicas to which the Service sends requests. */
  private async read(): Promise<readonly Peer[]> {
    const { client, service, self } = this.options;
    const path = `/apis/discovery.k8s.io/v1/namespaces/${service.namespace}/endpointslices`;
    const list = await client.must('GET', `${path}?labelSelector=kubernetes.io%2Fservice-name%3D${service.name}`);
    const peers = objectsOf(list?.['items'])
      .flatMap(peersIn)
      .filter(({ pod }) => pod !== self);
    for (const uid of this.seen.keys()) if (!peers.some((peer) => peer.uid === uid)) this.seen.delete(uid);
    return peers;
  }

  /** Asks all peers once. Returns those that have just become silent. */
  private async silent(peers: readonly Peer[]): Promise<readonly Peer[]> {
    const found: Peer[] = [];
    await Promise.all(
      peers.map(async (peer) => {
        const seen = this.seen.get(peer.uid) ?? { answered: false, silences: 0, failures: 0 };
        this.seen.set(peer.uid, seen);
        const answer = await this.options.ask(peer.address, peer.port, SILENCE_MILLIS);
        seen.silences = answer === 'silent' ? seen.silences + 1 : 0;
        seen.failures = answer === 'answers' ? 0 : seen.failures + 1;
        if (answer === 'answers') seen.answered = true;
        else if ((seen.silences >= SILENCES || seen.failures >= HANGS) && seen.answered) {
          // Once, until it answers again: its kubelet knows better, if that is there.
          seen.answered = false;
          found.push(peer);
        }
      }),
    );
    return found;
  }

  private async takeOut({ pod, uid }: Peer, signal: AbortSignal): Promise<void> {
    const { client, clock, service } = this.options;
    this.options.lost(pod);
    const message = `${this.options.self} gets no answer from it`;
    const ready = { type: 'Ready', status: 'False', reason: 'PeerGetsNoAnswer', message };
    const body: JsonObject = { metadata: { uid }, status: { conditions: [ready] } };
    const path = `/api/v1/namespaces/${service.namespace}/pods/${pod}/status`;
    try {
      await client.must('PATCH', path, body, 'application/strategic-merge-patch+json');
    } catch (error) {
      // It is gone, or another pod has its name.
      if (!(error instanceof ClusterError && (error.status === 404 || error.status === 409))) throw error;
    }
    const end = clock.monotonic() + OUT_MILLIS;
    while ((await this.read()).some((peer) => peer.uid === uid) && clock.monotonic() < end && !signal.aborted)
      await sleep(clock, SETTLE_MILLIS / 5, signal);
    for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt++) {
      await sleep(clock, SETTLE_MILLIS, signal);
      await this.options.reconnect();
      if (await this.options.works()) return;
    }
  }
}

function peersIn(slice: JsonObject): Peer[] {
  const port = objectsOf(slice['ports']).map((one) => one['port'])[0];
  if (typeof port !== 'number') return [];
  return objectsOf(slice['endpoints']).flatMap((endpoint) => {
    const conditions = endpoint['conditions'];
    const [address] = stringsOf(endpoint['addresses']);
    const pod = objectAt(endpoint, 'targetRef');
    const [name, uid] = [stringAt(pod, 'name'), stringAt(pod, 'uid')];
    const isReady = isObject(conditions) && conditions['ready'] === true;
    return isReady && address !== undefined && name !== undefined && uid !== undefined
      ? [{ pod: name, uid, address, port }]
      : [];
  });
}
