import { objectAt, objectsOf, stringsOf, textOf } from '../../apimachinery/json/json.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { Clock } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { waitUntil } from '../wait.js';

const SLICES =
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dkubernetes';
const POLL_MILLIS = 50;

export type KubeApiserver = Pick<ClusterClient, 'call' | 'plain' | 'discovery'>;

export interface KubeApiserversOptions {
  readonly client: Pick<ClusterClient, 'must' | 'at'>;
  readonly clock: Clock;
  /** The `host:port` of each; if empty, the endpoints of the Service `kubernetes`. */
  readonly addresses: readonly string[];
}

/** The kube-apiservers of the cluster, individually: each learns of policies, routes and definitions on its own. */
export class KubeApiservers {
  private readonly clients = new Map<string, ClusterClient>();

  constructor(private readonly options: KubeApiserversOptions) {}

  /** Waits until `holds` is true at each of them; one that disappears from the endpoints is not waited for. Throws on timeout. */
  async everywhere(
    what: string,
    holds: (server: KubeApiserver) => Promise<boolean>,
    millis: number,
    signal: AbortSignal,
    pollMillis = POLL_MILLIS,
  ): Promise<void> {
    const done = new Set<string>();
    const lookEverywhere = async (): Promise<string> => {
      let why = '';
      const look = async (address: string): Promise<void> => {
        try {
          if (await holds(this.client(address))) done.add(address);
          else why = `${what}: the kube-apiserver ${address} has not reached this step`;
        } catch (error) {
          why = `${what}: the kube-apiserver ${address}: ${messageOf(error)}`;
        }
      };
      await Promise.all((await this.addresses()).filter((address) => !done.has(address)).map(look));
      return why;
    };
    await waitUntil(lookEverywhere, { clock: this.options.clock, millis, pollMillis }, signal);
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
    this.clients.clear();
  }

  private async addresses(): Promise<readonly string[]> {
    if (this.options.addresses.length > 0) return this.options.addresses;
    const slices = objectsOf((await this.options.client.must('GET', SLICES))?.['items']);
    const found = slices.flatMap((slice) => {
      const port = objectsOf(slice['ports']).find(({ name }) => textOf(name) === 'https')?.['port'];
      return objectsOf(slice['endpoints'])
        .filter((endpoint) => objectAt(endpoint, 'conditions')?.['ready'] !== false)
        .flatMap((endpoint) => stringsOf(endpoint['addresses']))
        .map((host) => `${host.includes(':') ? `[${host}]` : host}:${Number(port)}`);
    });
    if (found.length === 0) throw new Error('the Service kubernetes in the namespace default has no endpoints');
    return found;
  }

  private client(address: string): ClusterClient {
    let client = this.clients.get(address);
    if (client === undefined) this.clients.set(address, (client = this.options.client.at(address)));
    return client;
  }
}
