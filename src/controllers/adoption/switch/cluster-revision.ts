import { ClusterError, type ClusterClient } from '../../../client/cluster-client.js';
import type { Revision } from '../../../storage/interfaces.js';

const NAME = 'annex-revisions';
const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';
/** Writes that are under way at once. */
const WORKERS = 16;

export interface ClusterRevisionOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  /** Of Annex. */
  readonly namespace: string;
}

/**
 * Has the cluster's revision pass one that clients may have seen in Annex, by small writes to a Lease: kube-apiserver takes a watch from
 * a revision that is still to come, and stays silent until then.
 */
export async function raiseCluster(
  { client, namespace }: ClusterRevisionOptions,
  above: Revision,
  signal: AbortSignal,
): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${NAME}`;
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: NAME, namespace } };
  let count = Date.now();
  let reached: Revision = 0;
  const take = (found: Awaited<ReturnType<ClusterClient['must']>>): void => {
    reached = Math.max(reached, Number(found?.metadata.resourceVersion ?? 0));
  };
  take(await client.must('PATCH', `${path}?fieldManager=annex&force=true`, lease, APPLY));
  const work = async (): Promise<void> => {
    while (reached <= above && !signal.aborted) {
      const metadata = { annotations: { 'kubeannex.io/count': String(++count) } };
      try {
        take(await client.must('PATCH', path, { metadata }, MERGE));
      } catch (error) {
        if (!(error instanceof ClusterError && error.status === 409)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  if (reached <= above) throw new Error(`the cluster's revision is ${reached}, and has to pass ${above}`);
}
