import type { ClusterClient } from '../client/cluster-client.js';

/** Returns the uid of the namespace kube-system, by which clusters are commonly told apart: it lasts as long as the cluster. */
export async function readClusterUid(client: Pick<ClusterClient, 'must'>): Promise<string> {
  const namespace = await client.must('GET', '/api/v1/namespaces/kube-system');
  const uid = namespace?.metadata.uid;
  if (uid === undefined || uid === '') throw new Error('the namespace does not exist');
  return uid;
}
