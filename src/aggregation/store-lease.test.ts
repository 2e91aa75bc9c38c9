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
    const outage: { since: number | undefined } = { since: undefined };
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
    const loses = (): void => void (outage.since = clock.monotonic());
    const returns = (): void => void (outage.since = undefined);
    return { loses, returns, isAlone };
  };
  const replicas = [replica(), replica()] as const;
  const pass = async (millis: number): Promise<void> => {
    for (let i = 0; i < millis; i += 1_000) {
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
    one.loses();
    await pass(10_000);
    expect(one.isAlone()).toBe(false);
    await pass(25_000);
    expect([one.isAlone(), two.isAlone()]).toEqual([true, false]);
    one.returns();
    expect(one.isAlone()).toBe(false);
    stop.abort();
  });

  test('tells nothing if the others find the store again a moment earlier, not even in the next outage', async () => {
    const { pass, replicas, stop } = setUp();
    const [one, two] = replicas;
    await pass(10_000);
    one.loses();
    two.loses();
    await pass(30_000);
    two.returns();
    await pass(7_000);
    expect([one.isAlone(), two.isAlone()]).toEqual([false, false]);
    one.returns();
    await pass(2_000);
    one.loses();
    two.loses();
    for (let i = 0; i < 40; i++) {
      await pass(1_000);
      expect([one.isAlone(), two.isAlone()]).toEqual([false, false]);
    }
    stop.abort();
  });

  test('tells nothing if all have lost it, or if the cluster is away, too', async () => {
    const { cluster, pass, replicas, broken, stop } = setUp();
    const [one, two] = replicas;
    await pass(10_000);
    one.loses();
    // The other one notices later, and renews the Lease once more.
    await pass(5_000);
    two.loses();
    const { writes } = cluster;
    await pass(120_000);
    expect([one.isAlone(), two.isAlone(), cluster.writes]).toEqual([false, false, writes]);
    cluster.away = true;
    await pass(30_000);
    expect([one.isAlone(), broken[0]]).toEqual([false, 'no route']);
    stop.abort();
  });
});
