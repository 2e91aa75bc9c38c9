import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { ClusterError } from '../../client/cluster-client.js';
import { systemClock } from '../../util/clock.js';
import { clusterRevision, raiseCluster, revisionsDuringSwitch } from './cluster-revision.js';

/** A cluster in which every write to a Lease adds one revision; `refuse` returns the error of a write that fails. */
function clusterAt(first: number, refuse: (write: number) => Error | undefined = () => undefined) {
  let revision = first;
  let writes = 0;
  const must = (method: string): Promise<KubeObject> => {
    if (method !== 'GET') {
      const error = refuse(++writes);
      if (error !== undefined) return Promise.reject(error);
      revision++;
    }
    return Promise.resolve({ metadata: { resourceVersion: String(revision) } });
  };
  return { client: { must }, clock: systemClock, namespace: 'annex', revision: () => revision };
}

test('the revision is raised above the requested one, and progress is reported', async () => {
  const cluster = clusterAt(100);
  const reached: number[] = [];
  const options = { ...cluster, reached: (now: number) => reached.push(now) };
  const at = await raiseCluster(options, 150, new AbortController().signal);
  expect(at).toBeGreaterThan(150);
  expect(at).toBe(cluster.revision());
  expect(Math.max(...reached)).toBe(at);
});

test('conflicts with other writers are retried, other failures are not', async () => {
  const conflicts = clusterAt(100, (write) =>
    write % 3 === 0 && write > 8 ? new ClusterError(409, 'the object has been modified') : undefined,
  );
  expect(await raiseCluster(conflicts, 150, new AbortController().signal)).toBeGreaterThan(150);
  const forbidden = clusterAt(100, () => new ClusterError(403, 'forbidden'));
  await expect(raiseCluster(forbidden, 150, new AbortController().signal)).rejects.toThrow('forbidden');
});

test('fails if aborted', async () => {
  const over = new AbortController();
  const cluster = clusterAt(100);
  const reached = (now: number): void => {
    if (now > 120) over.abort();
  };
  await expect(raiseCluster({ ...cluster, reached }, 1_000, over.signal)).rejects.toThrow('must exceed 1000');
});

test('a cluster that reports no revision is an error', async () => {
  const must = (): Promise<KubeObject> => Promise.resolve({ metadata: {} });
  await expect(clusterRevision({ must })).rejects.toThrow('revision');
});

test.each([
  ['a quiet cluster', { perSecond: 3, objects: 150, copyRate: 1000 }, 5_000],
  ['a busy one', { perSecond: 400, objects: 100, copyRate: 1000 }, 12_040],
  ['a large group', { perSecond: 400, objects: 50_000, copyRate: 1000 }, 32_000],
  ['a large group that is read anyway', { perSecond: 400, objects: 50_000, copyRate: 100_000 }, 22_000],
])('reserves enough revisions for %s', (_, activity, room) => {
  expect(revisionsDuringSwitch(activity)).toBe(room);
});
