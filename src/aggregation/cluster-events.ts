import type { KubeObject } from '../apimachinery/meta/meta.js';
import { type ClusterClient, ClusterError } from '../client/cluster-client.js';

/** Creates an Event in the cluster. One that another replica has created, or that Annex may not create, is not an error. */
export async function recordInCluster(client: Pick<ClusterClient, 'must'>, event: KubeObject): Promise<void> {
  try {
    await client.must('POST', `/api/v1/namespaces/${event.metadata.namespace ?? ''}/events`, event);
  } catch (error) {
    if (!(error instanceof ClusterError && (error.status === 409 || error.status === 403))) throw error;
  }
}
