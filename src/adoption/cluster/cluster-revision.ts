import { objectAt } from '../../apimachinery/json/json.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';
import type { Revision } from '../../storage/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import type { RateLimit } from '../rate-limit.js';

/** The number of Leases written in parallel: concurrent writers of one conflict. Their names end with a number; the chart lists them, too. */
const LEASES = 8;
const NAME = 'annex-revisions-';
const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';

/** A replica that starts while a group leaves Annex may return what was written until then: the cluster is raised by this much more. */
export const RAISE_SLACK = 200;

/**
 * How far ahead of the log the newest revision lies that lists show while a group leaves: what other types write until every replica knows
 * of it.
 */
export const LAST_REVISION_ROOM = 1_000;

/** The rate of writes is measured for this long. */
const RATE_MILLIS = 1_000;
const LEAST_MARGIN = 5_000;
/** The duration of a switch, apart from the list. */
const SWITCH_SECONDS = 30;
/** kube-apiserver is not expected to list more, whatever the rate. */
const LISTED_PER_SECOND = 2_000;

export interface ClusterRevisionOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The namespace that Annex runs in. */
  readonly namespace: string;
  /** Limits the writes. */
  readonly rate?: Pick<RateLimit, 'take'>;
  /** Receives the revision reached so far. */
  readonly reached?: (revision: Revision) => void;
}

/** The cluster's newest revision, which all its types share. */
export async function clusterRevision(client: Pick<ClusterClient, 'must'>): Promise<Revision> {
  const found = await client.must('GET', '/api/v1/namespaces?limit=1');
  const revision = Number(objectAt(found, 'metadata')?.['resourceVersion'] ?? NaN);
  if (!Number.isFinite(revision)) throw new Error('the cluster does not report its revision');
  return revision;
}

/** What the room for the revisions of one side follows from. */
export interface RevisionActivity {
  /** The revisions that this side adds in a second. */
  readonly perSecond: number;
  /** The objects of the group, which are listed once more before the switch. */
  readonly objects: number;
  /** The maximum number of objects read in a second. */
  readonly copyRate: number;
  /** The least room. */
  readonly least?: number;
}

/** Measures one second: the newest revision, and how many are added in a second. */
export async function measureRevisions(
  newest: () => Promise<Revision>,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly now: Revision; readonly perSecond: number }> {
  const [before, began] = [await newest(), clock.monotonic()];
  await sleep(clock, RATE_MILLIS, signal);
  const now = await newest();
  return { now, perSecond: (now - before) / ((clock.monotonic() - began) / 1000) };
}

/**
 * Returns how many revisions one side may add while a group is switched: the log of Annex starts so far above the cluster's revision, and on the
 * way back kube-apiservers load the objects so far above that of Annex.
 */
export function revisionsDuringSwitch({
  perSecond,
  objects,
  copyRate,
  least = LEAST_MARGIN,
}: RevisionActivity): number {
  const seconds = SWITCH_SECONDS + objects / Math.min(copyRate, LISTED_PER_SECOND);
  return Math.max(least, Math.ceil(perSecond * seconds));
}

/**
 * Raises the cluster's revision above one that clients may have seen in Annex, by small writes to Leases: kube-apiserver accepts a watch
 * from a future revision and stays silent until it is reached. Returns a revision that the cluster has reached.
 */
export async function raiseCluster(
  options: ClusterRevisionOptions,
  above: Revision,
  signal: AbortSignal,
): Promise<Revision> {
  const { client, clock, namespace, rate } = options;
  let count = clock.now();
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
  if (reached <= above) throw new Error(`the cluster's revision is ${reached}, but must exceed ${above}`);
  return reached;
}
