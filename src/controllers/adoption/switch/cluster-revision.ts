import { objectAt } from '../../../apimachinery/json/json.js';
import { ClusterError, type ClusterClient } from '../../../client/cluster-client.js';
import type { Revision } from '../../../storage/interfaces.js';
import type { RateLimit } from '../rate-limit.js';

/** Leases that are written side by side: writers of one get in each other's way. Their names end with a number; the chart names them, too. */
const LEASES = 8;
const NAME = 'annex-revisions-';
const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';

/** A replica that starts while a group leaves Annex may show what was written until then: the cluster is raised by so much more. */
export const RAISE_SLACK = 200;

export interface ClusterRevisionOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  /** Of Annex. */
  readonly namespace: string;
  /** Of the writes. */
  readonly rate?: Pick<RateLimit, 'take'>;
  /** Hears how far it is. */
  readonly reached?: (revision: Revision) => void;
}

/** The cluster's newest revision, which all its types share. */
export async function clusterRevision(client: Pick<ClusterClient, 'must'>): Promise<Revision> {
  const found = await client.must('GET', '/api/v1/namespaces?limit=1');
  const revision = Number(objectAt(found, 'metadata')?.['resourceVersion'] ?? NaN);
  if (!Number.isFinite(revision)) throw new Error('the cluster does not report its revision');
  return revision;
}

/**
 * Has the cluster's revision pass one that clients may have seen in Annex, by small writes to Leases: kube-apiserver takes a watch from
 * a revision that is still to come, and stays silent until then. The revision that the cluster has then, at least.
 */
export async function raiseCluster(
  options: ClusterRevisionOptions,
  above: Revision,
  signal: AbortSignal,
): Promise<Revision> {
  const { client, namespace, rate } = options;
  let count = Date.now();
  let reached: Revision = 0;
  const take = (found: Awaited<ReturnType<ClusterClient['must']>>): void => {
    reached = Math.max(reached, Number(found?.metadata.resourceVersion ?? 0));
    options.reached?.(reached);
  };
  const work = async (name: string): Promise<void> => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace } };
    take(await client.must('PATCH', `${path}?fieldManager=annex&force=true`, lease, APPLY));
    while (reached <= above && !signal.aborted) {
      await rate?.take(1, signal);
      const metadata = { annotations: { 'kubeannex.io/count': String(++count) } };
      try {
        take(await client.must('PATCH', path, { metadata }, MERGE));
      } catch (error) {
        if (!(error instanceof ClusterError && error.status === 409)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: LEASES }, (_, i) => work(`${NAME}${i}`)));
  if (reached <= above) throw new Error(`the cluster's revision is ${reached}, and has to pass ${above}`);
  return reached;
}
