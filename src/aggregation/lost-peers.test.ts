import type { JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { LostPeers } from './lost-peers.js';

/** A cluster with replicas at addresses that answer or do not. */
class Cluster {
  readonly clock = new FakeClock();
  readonly log: string[] = [];
  readonly silent = new Set<string>();
  readonly hanging = new Set<string>();
  readonly unready = new Set<string>();
  pods = ['self', 'other'];
  /** How many new connections still lead to the lost replica. */
  broken = 0;
  private readonly stop = new AbortController();

  start(): void {
    const peers = new LostPeers({
      client: { must: (method, path, body) => this.must(method, path, body) },
      clock: this.clock,
      service: { namespace: 'annex-system', name: 'annex' },
      self: 'self',
      ask: (address) =>
        Promise.resolve(this.silent.has(address) ? 'silent' : this.hanging.has(address) ? 'hangs' : 'answers'),
      reconnect: () => Promise.resolve(void this.log.push('reconnect')),
      works: () => Promise.resolve(this.broken-- <= 0),
      lost: (pod) => void this.log.push(`lost ${pod}`),
      restored: () => undefined,
      failed: (error) => void this.log.push(String(error)),
    });
    void peers.run(this.stop.signal);
  }

  async seconds(count: number): Promise<void> {
    for (let i = 0; i < count * 2; i++) {
      for (let j = 0; j < 30; j++) await Promise.resolve();
      this.clock.advance(500);
    }
    for (let j = 0; j < 30; j++) await Promise.resolve();
  }

  end(): void {
    this.stop.abort();
  }

  private must(method: string, path: string, body?: JsonObject): Promise<KubeObject | undefined> {
    if (method === 'PATCH') {
      this.log.push(`${path.split('/').slice(-2).join('/')} ${JSON.stringify(body?.['metadata'])}`);
      this.unready.add(path.split('/').at(-2) ?? '');
      return Promise.resolve(undefined);
    }
    const endpoints = this.pods.map((name) => ({
      addresses: [`address of ${name}`],
      conditions: { ready: !this.unready.has(name) },
      targetRef: { kind: 'Pod', name, uid: `uid of ${name}` },
    }));
    const items = [{ ports: [{ port: 6443 }], endpoints }];
    return Promise.resolve({ apiVersion: 'v1', kind: 'List', metadata: {}, items });
  }
}

describe('peers', () => {
  const started: Cluster[] = [];
  const start = (): Cluster => {
    const cluster = new Cluster();
    started.push(cluster);
    cluster.start();
    return cluster;
  };
  afterEach(() => started.splice(0).forEach((each) => each.end()));

  it('takes out one that no longer answers, once, and makes kube-apiserver connect anew', async () => {
    const cluster = start();
    await cluster.seconds(3);
    cluster.silent.add('address of other');
    await cluster.seconds(30);
    expect(cluster.log).toEqual(['lost other', 'other/status {"uid":"uid of other"}', 'reconnect']);
    cluster.silent.clear();
    cluster.unready.clear();
    await cluster.seconds(12);
    cluster.silent.add('address of other');
    cluster.broken = 2;
    await cluster.seconds(20);
    expect(cluster.log.slice(3)).toEqual([
      'lost other',
      'other/status {"uid":"uid of other"}',
      'reconnect',
      'reconnect',
      'reconnect',
    ]);
  });

  it('gives one that accepts connections and says nothing more time', async () => {
    const cluster = start();
    await cluster.seconds(3);
    cluster.hanging.add('address of other');
    await cluster.seconds(4);
    expect(cluster.log).toEqual([]);
    await cluster.seconds(6);
    expect(cluster.log).toEqual(['lost other', 'other/status {"uid":"uid of other"}', 'reconnect']);
  });

  it.each([
    ['that is silent for a moment', (cluster: Cluster) => cluster.seconds(2).then(() => cluster.silent.clear())],
    ['that has ended', (cluster: Cluster) => Promise.resolve(void (cluster.pods = ['self']))],
  ])('leaves one alone %s', async (_what, then) => {
    const cluster = start();
    await cluster.seconds(3);
    cluster.silent.add('address of other');
    await then(cluster);
    await cluster.seconds(20);
    expect(cluster.log).toEqual([]);
  });

  it('leaves one alone that has never answered', async () => {
    const cluster = start();
    cluster.silent.add('address of other');
    await cluster.seconds(20);
    expect(cluster.log).toEqual([]);
  });
});
