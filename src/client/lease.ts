import { deepCopy, type JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { ClusterClient } from './cluster-client.js';

/** A Lease of the cluster by its name. */
export class Lease {
  private readonly collection: string;

  constructor(
    private readonly client: Pick<ClusterClient, 'must'>,
    private readonly namespace: string,
    private readonly name: string,
  ) {
    this.collection = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  }

  read(): Promise<KubeObject | undefined> {
    return this.client.must('GET', `${this.collection}/${this.name}`);
  }

  /** Gives the Lease that was read the spec, or creates it if there was none. Throws ClusterError (409) if another process was faster. */
  async write(current: KubeObject | undefined, spec: JsonObject): Promise<void> {
    const { client, collection, name, namespace } = this;
    if (current !== undefined) {
      await client.must('PUT', `${collection}/${name}`, { ...deepCopy(current), spec });
      return;
    }
    const metadata = { name, namespace };
    await client.must('POST', collection, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
  }
}
