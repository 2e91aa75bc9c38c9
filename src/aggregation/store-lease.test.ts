import { FakeClock } from '../../test/fakes/util/clock.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError } from '../client/cluster-client.js';
import { StoreLease } from './store-lease.js';

class Cluster {
  lease: KubeObject | undefined;
  away = false;
  writes = 0;

  must(method: string, _path: string, body?: object): Promise<KubeObject | undefined> {
    if (this.away) return Promise.reject(new ClusterError(0, 'no route'));
    if (method !== 'GET') {
      this.writes++;
      this.lease = { ...(body as KubeObject) };
      this.lease = { ...this.lease, metadata: { ...this.lease.metadata, resourceVersion: String(this.writes) } };
    }
    return Promise.resolve(this.lease);
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 30; i++) await Promise.resolve();
}

function setUp() {
  const clock = new FakeClock();
  const cluster = new Cluster();
  const stop = new AbortController();
  const broken: string[] = [];
  const replica = () => {
    const outage: { age: number | undefined } = { age: undefined };
    const lease = new StoreLease({
      client: cluster,
      clock,
      namespace: 'annex-system',
      identity: 'one',
      outage,
      broken: (error) => void broken.push(error instanceof Error ? error.message : ''),
      restored: () => undefined,
    });
    void lease.run(stop.signal);
    const isAlone = (): boolean => {
      try {
        lease.check();
        return false;
      } catch {
        return true;
      }
    };
    return { outage, isAlone };
  };
  const replicas = [replica(), replica()] as const;
  /** The replicas that are away grow older. */
  const pass = async (millis: number): Promise<void> => {
    for (let i = 0; i < millis; i += 1_000) {
      for (const { outage } of replicas) if (outage.age !== undefined) outage.age += 1_000;
      clock.advance(1_000);
      await settle();
    }
  };
  return { cluster, pass, replicas, broken, stop };
}

describe('the Lease of replicas that reach the store', () => {
  test('is renewed by one of them about every ten seconds', async () => {
    const { cluster, pass, replicas, stop } = setUp();
    await pass(60_000);
    expect(cluster.writes).toBeGreaterThanOrEqual(4);
    expect(cluster.writes).toBeLessThanOrEqual(9);
    expect(replicas.map(({ isAlone }) => isAlone())).toEqual([false, false]);
    stop.abort();
  });

  test('tells a replica that it alone has lost the store, until that is over', async () => {
    const { pass, replicas, stop } = setUp();
    const [one, two] = replicas;
    await pass(10_000);
    one.outage.age = 0;
    await pass(10_000);
    expect(one.isAlone()).toBe(false);
    await pass(20_000);
    expect([one.isAlone(), two.isAlone()]).toEqual([true, false]);
    one.outage.age = undefined;
    expect(one.isAlone()).toBe(false);
    stop.abort();
  });

  test('tells nothing if all have lost it, or if the cluster is away, too', async () => {
    const { cluster, pass, replicas, broken, stop } = setUp();
    const [one, two] = replicas;
    await pass(10_000);
    one.outage.age = 0;
    // The other one notices later, and renews the Lease once more.
    await pass(5_000);
    two.outage.age = 0;
    const { writes } = cluster;
    await pass(120_000);
    expect([one.isAlone(), two.isAlone(), cluster.writes]).toEqual([false, false, writes]);
    cluster.away = true;
    await pass(30_000);
    expect([one.isAlone(), broken[0]]).toEqual([false, 'no route']);
    stop.abort();
  });
});
