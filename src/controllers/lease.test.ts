import { deepCopy, type JsonObject, objectAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError } from '../client/cluster-client.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { clusterLeases } from '../client/lease.js';
import { ElectionLease } from './lease.js';

/** A cluster with one Lease. */
class Cluster {
  lease: KubeObject | undefined;
  away = false;
  private revision = 0;

  must(method: string, _path: string, body?: JsonObject): Promise<KubeObject | undefined> {
    if (this.away) return Promise.reject(new ClusterError(0, 'away'));
    if (method === 'GET') return Promise.resolve(this.lease && deepCopy(this.lease));
    const object = body as KubeObject;
    const expected = method === 'POST' ? undefined : object.metadata.resourceVersion;
    if (this.lease?.metadata.resourceVersion !== expected) return Promise.reject(new ClusterError(409, 'conflict'));
    this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.revision) } };
    return Promise.resolve(this.lease);
  }

  get holder(): unknown {
    return objectAt(this.lease, 'spec')?.['holderIdentity'];
  }
}

function contender(cluster: Pick<Cluster, 'must'>, clock: FakeClock, identity: string) {
  const stop = new AbortController();
  const state = { leads: false, failures: 0 };
  const lease = new ElectionLease({
    leases: clusterLeases(cluster),
    clock,
    namespace: 'ns',
    name: 'lease',
    identity,
    onError: () => {
      state.failures++;
    },
  });
  const done = lease.contend(stop.signal, (signal) => {
    state.leads = true;
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        state.leads = false;
        resolve();
      });
    });
  });
  return { state, stop, done };
}

async function pass(clock: FakeClock, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    for (let j = 0; j < 20; j++) await Promise.resolve();
    clock.advance(1_000);
  }
  for (let j = 0; j < 20; j++) await Promise.resolve();
}

describe('a Lease in the cluster', () => {
  test('has one holder, and another takes over soon after it is released', async () => {
    const [cluster, clock] = [new Cluster(), new FakeClock()];
    const first = contender(cluster, clock, 'one');
    await pass(clock, 1);
    const second = contender(cluster, clock, 'two');
    await pass(clock, 60);
    expect([first.state.leads, second.state.leads, cluster.holder]).toEqual([true, false, 'one']);
    first.stop.abort();
    await first.done;
    await pass(clock, 4);
    expect([first.state.leads, second.state.leads, cluster.holder]).toEqual([false, true, 'two']);
    second.stop.abort();
  });

  test('is taken from a holder that stops renewing, after that has stopped leading', async () => {
    const [cluster, clock] = [new Cluster(), new FakeClock()];
    const cut = {
      away: false,
      must: (method: string, path: string, body?: JsonObject) =>
        cut.away ? Promise.reject(new ClusterError(0, 'cut off')) : cluster.must(method, path, body),
    };
    const first = contender(cut, clock, 'one');
    await pass(clock, 1);
    const second = contender(cluster, clock, 'two');
    await pass(clock, 10);
    cut.away = true;
    for (let i = 0; i < 40; i++) {
      await pass(clock, 1);
      expect(first.state.leads && second.state.leads).toBe(false);
    }
    expect([first.state.leads, second.state.leads, cluster.holder]).toEqual([false, true, 'two']);
    expect(first.state.failures).toBeGreaterThan(5);
    cut.away = false;
    await pass(clock, 20);
    expect([first.state.leads, second.state.leads]).toEqual([false, true]);
    second.stop.abort();
    first.stop.abort();
  });

  test('is kept during a short outage of the cluster', async () => {
    const [cluster, clock] = [new Cluster(), new FakeClock()];
    const first = contender(cluster, clock, 'one');
    await pass(clock, 5);
    cluster.away = true;
    await pass(clock, 6);
    expect(first.state.leads).toBe(true);
    cluster.away = false;
    await pass(clock, 10);
    expect(first.state.leads).toBe(true);
    first.stop.abort();
  });
});
