import { FakeClock } from '../../../test/fakes/util/clock.js';
import { DETACHED } from '../../client/detached.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { type KubeObject, nameOf } from '../../apimachinery/meta/meta.js';
import type { Cluster } from '../../client/lists.js';
import { attach } from './attach.js';
import { detach, type DetachOptions } from './detach.js';
import { API_SERVICES, configMapPath } from './record.js';

const OPTIONS: DetachOptions = { namespace: 'annex-system', service: 'annex', acceptOldState: false, dryRun: false };
const RECORD = `${configMapPath('annex-system')}/${DETACHED}`;
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/annex';

let printed: string[];
beforeEach(() => {
  printed = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
});
afterEach(() => jest.restoreAllMocks());

const service = (name: string, { namespace = 'annex-system', managed = true, own = {} } = {}): KubeObject => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: {
    name,
    ...(managed && { labels: { 'app.kubernetes.io/managed-by': 'annex' } }),
    ownerReferences: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'annex', uid: 'role' }],
    annotations: { 'kubeannex.io/fingerprint': 'f' },
    ...own,
  },
  spec: { group: name.slice(3), version: 'v1', service: { namespace, name: 'annex', port: 443 }, caBundle: 'Q0E=' },
});

/** A cluster that keeps objects by path. */
class FakeCluster {
  readonly objects = new Map<string, JsonObject>();
  readonly clock = new FakeClock();
  /** The names that a replica registers again, and how often. */
  readonly registered = new Map<string, number>();
  private revision = 0;

  constructor(...services: KubeObject[]) {
    for (const one of services) this.put(`${API_SERVICES}/${nameOf(one)}`, one);
    this.put(ROLE, { metadata: { name: 'annex', uid: 'role' } });
  }

  put(path: string, object: JsonObject): void {
    const { metadata } = object as KubeObject;
    const revision = String(++this.revision);
    this.objects.set(path, { ...object, metadata: { uid: `uid-${revision}`, ...metadata, resourceVersion: revision } });
  }

  names(): string[] {
    return [...this.objects.keys()]
      .filter((path) => path.startsWith(`${API_SERVICES}/`))
      .map((path) => path.split('/').at(-1) ?? '');
  }

  get cluster(): Cluster {
    const answer = (method: string, full: string, body?: JsonObject): { status: number; body: JsonObject } => {
      const path = full.replace(/\?.*/, '');
      const found = this.objects.get(path);
      if (method === 'POST') {
        this.put(`${path}/${nameOf(body ?? {})}`, body ?? {});
        return { status: 201, body: {} };
      }
      if (method === 'DELETE') {
        this.objects.delete(path);
        const times = this.registered.get(path.split('/').at(-1) ?? '') ?? 0;
        if (found !== undefined && times > 0) {
          this.registered.set(path.split('/').at(-1) ?? '', times - 1);
          this.put(path, found);
        }
        return { status: found === undefined ? 404 : 200, body: {} };
      }
      if (found !== undefined) return { status: 200, body: found };
      const items = [...this.objects].filter(([key]) => key.startsWith(`${path}/`)).map(([, object]) => object);
      return items.length > 0 || path === POLICIES ? { status: 200, body: { items } } : { status: 404, body: {} };
    };
    return {
      call: (method, path, body) => Promise.resolve(answer(method, path, body)),
      must: (method, path, body) => {
        const { status, body: found } = answer(method, path, body);
        return Promise.resolve(status === 404 ? undefined : (found as KubeObject));
      },
      metadata: () => Promise.reject(new Error('not asked')),
    };
  }

  /** Runs a command while time passes. */
  async run(work: Promise<void>): Promise<string> {
    const state = { over: false };
    const result = work.then(
      () => 'done',
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
    void result.then(() => (state.over = true));
    for (let i = 0; i < 100 && !state.over; i++) {
      this.clock.advance(500);
      for (let step = 0; step < 50; step++) await Promise.resolve();
    }
    return result;
  }

  detach(options: Partial<DetachOptions> = {}): Promise<string> {
    return this.run(detach(this.cluster, this.clock, { ...OPTIONS, ...options }));
  }

  attach(options: { readonly dryRun?: boolean } = {}): Promise<string> {
    return this.run(attach(this.cluster, { ...OPTIONS, dryRun: false, ...options }));
  }
}

const OTHERS = [
  service('v1.metrics.example.com', { namespace: 'monitoring' }),
  service('v1.hand.example.com', { managed: false }),
];

test('detach takes away what Annex registered and nothing else; attach puts just that back', async () => {
  const cluster = new FakeCluster(service('v1.a.example.com'), service('v1.kubeannex.io'), ...OTHERS);
  const before = cluster.objects.get(`${API_SERVICES}/v1.a.example.com`) as KubeObject;
  expect(await cluster.detach()).toBe('done');
  expect(cluster.names()).toEqual(['v1.metrics.example.com', 'v1.hand.example.com']);
  expect(printed.join('')).toContain('Takes away 2 APIServices: v1.a.example.com, v1.kubeannex.io.');
  expect(printed.join('')).toContain('annex attach -n annex-system puts it back');
  expect(await cluster.attach()).toBe('done');
  expect(cluster.names().sort()).toEqual([
    'v1.a.example.com',
    'v1.hand.example.com',
    'v1.kubeannex.io',
    'v1.metrics.example.com',
  ]);
  const after = cluster.objects.get(`${API_SERVICES}/v1.a.example.com`) as KubeObject;
  const { labels, annotations, ownerReferences } = before.metadata;
  expect(after.metadata).toMatchObject({ labels, annotations, ownerReferences });
  expect(after['spec']).toEqual(before['spec']);
  expect(cluster.objects.has(RECORD)).toBe(false);
});

test('an APIService that a running replica registers once more is taken away again', async () => {
  const cluster = new FakeCluster(service('v1.kubeannex.io'));
  cluster.registered.set('v1.kubeannex.io', 3);
  expect(await cluster.detach()).toBe('done');
  expect(cluster.names()).toEqual([]);
});

test('a replica that goes on registering is named as the reason', async () => {
  const cluster = new FakeCluster(service('v1.kubeannex.io'));
  cluster.registered.set('v1.kubeannex.io', 1_000);
  expect(await cluster.detach()).toMatch(/^v1\.kubeannex\.io: a replica of Annex registers them again.*--replicas=0/);
});

test('a second run goes on with the record of the first', async () => {
  const cluster = new FakeCluster(service('v1.kubeannex.io'));
  await cluster.detach();
  const record = cluster.objects.get(RECORD);
  cluster.put(`${API_SERVICES}/v1.kubeannex.io`, service('v1.kubeannex.io'));
  expect(await cluster.detach()).toBe('done');
  expect([cluster.names(), cluster.objects.get(RECORD)]).toEqual([[], record]);
});

test('groups that Annex serves for the cluster are not detached unless that is accepted', async () => {
  const cluster = new FakeCluster(service('v1.a.example.com'));
  cluster.put(`${POLICIES}/annex-adoption.a.example.com`, { metadata: { name: 'annex-adoption.a.example.com' } });
  expect(await cluster.detach()).toMatch(/^Annex serves a\.example\.com, moved here.*--accept-old-state$/);
  expect([cluster.names(), cluster.objects.has(RECORD)]).toEqual([['v1.a.example.com'], false]);
  expect(await cluster.detach({ acceptOldState: true })).toBe('done');
  expect(cluster.names()).toEqual([]);
  expect(printed.join('')).toContain('shows its old copy of a.example.com, or nothing');
});

test('a dry run changes nothing', async () => {
  const cluster = new FakeCluster(service('v1.kubeannex.io'));
  expect(await cluster.detach({ dryRun: true })).toBe('done');
  expect([cluster.names(), cluster.objects.has(RECORD)]).toEqual([['v1.kubeannex.io'], false]);
  await cluster.detach();
  expect(await cluster.attach({ dryRun: true })).toBe('done');
  expect([cluster.names(), cluster.objects.has(RECORD)]).toEqual([[], true]);
});

test('there must be something to detach, and something to attach', async () => {
  const cluster = new FakeCluster(...OTHERS);
  expect(await cluster.detach()).toContain('nothing to detach');
  expect(await cluster.attach()).toContain('Annex is not detached from this cluster');
});

test('attach leaves an APIService alone that somebody else has created, says so, and puts back the others', async () => {
  const cluster = new FakeCluster(service('v1.a.example.com'), service('v1.b.example.com'));
  await cluster.detach();
  cluster.put(`${API_SERVICES}/v1.a.example.com`, service('v1.a.example.com', { managed: false }));
  const others = cluster.objects.get(`${API_SERVICES}/v1.a.example.com`);
  expect(await cluster.attach()).toMatch(/^v1\.a\.example\.com: the cluster has another APIService/);
  expect(cluster.objects.get(`${API_SERVICES}/v1.a.example.com`)).toBe(others);
  expect(cluster.names().sort()).toEqual(['v1.a.example.com', 'v1.b.example.com']);
});

test('an owner that is gone, or another one of its name, is left out', async () => {
  const cluster = new FakeCluster(service('v1.kubeannex.io'));
  await cluster.detach();
  cluster.put(ROLE, { metadata: { name: 'annex', uid: 'newer' } });
  await cluster.attach();
  const back = cluster.objects.get(`${API_SERVICES}/v1.kubeannex.io`) as KubeObject;
  expect(back.metadata.ownerReferences).toBeUndefined();
});

test('a damaged record is reported, and nothing is changed', async () => {
  const cluster = new FakeCluster(service('v1.kubeannex.io'));
  cluster.put(RECORD, { metadata: { name: DETACHED }, data: { 'apiservices.json': '{' } });
  expect(await cluster.attach()).toContain('is damaged');
  expect(cluster.objects.has(RECORD)).toBe(true);
});
