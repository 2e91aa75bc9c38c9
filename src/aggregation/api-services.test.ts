import { X509Certificate } from 'node:crypto';
import { deepCopy, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterListener } from '../client/cluster-client.js';
import { createCertificate, generateKey } from '../pki/certificates.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import type { GroupRoute } from '../client/api-services.js';
import { ApiServices, type ServedGroupVersion } from './api-services.js';
import { Owner } from './owner.js';

const FINGERPRINT = 'kubeannex.io/fingerprint';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles?fieldSelector=metadata.name%3Dannex';
const ROLES_OF_A = ROLES.replace(/annex$/, 'a');
const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';

/** A cluster that contains only APIServices, and delivers their watch events synchronously. */
class Cluster {
  readonly services = new Map<string, KubeObject>();
  readonly listeners = new Map<string, { listener: ClusterListener; failed: (error: unknown) => void }>();
  readonly writes: string[] = [];
  readonly deletions: JsonObject[] = [];
  private revision = 0;
  refusal: ClusterError | undefined;

  follow(path: string, listener: ClusterListener, _: AbortSignal, failed: (error: unknown) => void): Promise<void> {
    this.listeners.set(path, { listener, failed });
    return Promise.resolve();
  }

  must(method: string, path: string, body?: JsonObject): Promise<KubeObject | undefined> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    const object = body === undefined ? undefined : (deepCopy(body) as KubeObject);
    const name = method === 'POST' ? (object?.metadata.name ?? '') : path.slice(SERVICES.length + 1);
    this.writes.push(`${method} ${name}`);
    if (method === 'DELETE') {
      this.deletions.push(body ?? {});
      this.remove(name);
    } else if (object !== undefined) this.put(object);
    return Promise.resolve(object);
  }

  put({ metadata, ...object }: KubeObject): void {
    const stored = { ...object, metadata: { ...metadata, resourceVersion: String(++this.revision) } };
    this.services.set(metadata.name ?? '', stored);
    this.listener(SERVICES).upsert(stored);
  }

  remove(name: string): void {
    const object = this.services.get(name);
    this.services.delete(name);
    if (object !== undefined) this.listener(SERVICES).delete(object);
  }

  listener(path: string): ClusterListener {
    const found = this.listeners.get(path);
    if (found === undefined) throw new Error(`nobody follows ${path}`);
    return found.listener;
  }

  fail(path: string, error: ClusterError): void {
    this.listeners.get(path)?.failed(error);
  }

  synced(): void {
    this.listener(SERVICES).replaced([...this.services.values()]);
    this.listener(SERVICES).responded?.();
  }

  get(name: string): KubeObject {
    return this.services.get(name) ?? { metadata: {} };
  }

  spec(name: string): JsonObject {
    return objectAt(this.get(name), 'spec') ?? {};
  }
}

const version = (group: string, name = 'v1', rank = 0, fingerprint = 'f1'): ServedGroupVersion => ({
  group,
  version: name,
  rank,
  fingerprint,
});

function setUp({ owner = '' }: { owner?: string } = {}) {
  const cluster = new Cluster();
  const clock = new FakeClock();
  const reported: string[] = [];
  const state = {
    served: [version('a.example.com')],
    bundle: 'CA',
    route: 'Ordinary' as GroupRoute,
    allowed: [] as string[],
    mayRegister: true,
    confirmed: true,
  };
  const owning = new Owner(owner);
  const services = new ApiServices({
    client: cluster,
    clock,
    service: { namespace: 'system', name: 'annex', port: 443 },
    caBundle: () => state.bundle,
    allowedGroups: state.allowed,
    owner: owning,
    detached: {
      get mayRegister() {
        return state.mayRegister;
      },
      confirm: () => Promise.resolve(state.confirmed),
    },
    served: () => state.served,
    routeOf: () => state.route,
    unreadable: (error) => void reported.push(`unreadable: ${String(error)}`),
    inOrder: () => void reported.push('in order'),
    failed: (group, name, error) => void reported.push(`failed ${group}/${name}: ${String(error)}`),
    registered: (group, name) => void reported.push(`registered ${group}/${name}`),
    refused: (group, name, { reason, message }) =>
      void reported.push(`refused ${group}/${name}: ${reason}: ${message}`),
  });
  const { signal } = new AbortController();
  owning.follow(cluster, signal, {
    changed: () => {
      services.changed();
    },
    broken: (error) => void reported.push(`owner: ${String(error)}`),
    restored: () => void reported.push('owner found'),
  });
  const begun = services.start(signal);
  return { cluster, clock, reported, state, services, begun };
}

/** Runs pending promise callbacks. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

describe('ApiServices', () => {
  test('nothing is registered or restored while Annex is detached', async () => {
    const { cluster, services, state } = setUp();
    state.mayRegister = false;
    cluster.synced();
    await settle();
    expect(cluster.services.size).toBe(0);
    state.mayRegister = true;
    // It has not heard of the ConfigMap yet.
    state.confirmed = false;
    services.changed();
    await settle();
    expect(cluster.services.size).toBe(0);
    state.confirmed = true;
    services.changed();
    await settle();
    expect(cluster.services.size).toBe(1);
  });

  test('an APIService of a CustomResourceDefinition is taken over for an adopted group, and given back', async () => {
    const { cluster, services, state, reported } = setUp();
    const label = 'kube-aggregator.kubernetes.io/automanaged';
    const spec = { group: 'a.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 };
    cluster.synced();
    await settle();
    cluster.put({ metadata: { name: 'v1.a.example.com', uid: 'u', labels: { [label]: 'true', own: 'x' } }, spec });
    await settle();
    expect(reported.at(-1)).toMatch(/^refused a.example.com\/v1: /);
    state.route = 'Annex';
    services.changed();
    await settle();
    expect(cluster.get('v1.a.example.com').metadata.labels).toEqual({
      own: 'x',
      'app.kubernetes.io/managed-by': 'annex',
    });
    expect(cluster.spec('v1.a.example.com')).toMatchObject({ service: { name: 'annex' }, versionPriority: 100 });
    state.route = 'Cluster';
    services.changed();
    await settle();
    // In the state that was read; kube-apiserver makes its own.
    expect(cluster.services.has('v1.a.example.com')).toBe(false);
    const preconditions = { uid: 'u', resourceVersion: '3' };
    expect(cluster.deletions).toEqual([{ apiVersion: 'v1', kind: 'DeleteOptions', preconditions }]);
    cluster.put({ metadata: { name: 'v1.a.example.com', uid: 'u2', labels: { [label]: 'onstart' } }, spec });
    const writes = cluster.writes.length;
    services.changed();
    await settle();
    expect(cluster.writes).toHaveLength(writes);
  });

  test('registers the served group versions, in the order of preference', async () => {
    const { cluster, state, reported } = setUp();
    state.served = [version('a.example.com', 'v2'), version('a.example.com', 'v1', 1)];
    cluster.synced();
    await settle();
    expect(cluster.writes).toEqual(['POST v2.a.example.com', 'POST v1.a.example.com']);
    expect(cluster.spec('v1.a.example.com')).toEqual({
      service: { namespace: 'system', name: 'annex', port: 443 },
      group: 'a.example.com',
      version: 'v1',
      caBundle: Buffer.from('CA').toString('base64'),
      groupPriorityMinimum: 1000,
      versionPriority: 99,
    });
    expect(reported).toContain('registered a.example.com/v1');
  });

  test('writes nothing before the first list', async () => {
    const { cluster, services } = setUp();
    services.servedChanged();
    await settle();
    expect(cluster.writes).toEqual([]);
  });

  test('writes nothing if everything is up to date, as after a restart', async () => {
    const first = setUp();
    first.cluster.synced();
    await settle();
    const second = setUp();
    for (const [name, service] of first.cluster.services) second.cluster.services.set(name, service);
    second.cluster.synced();
    await settle();
    expect(second.cluster.writes).toEqual([]);
    expect(new Set(second.reported)).toEqual(new Set(['in order', 'registered a.example.com/v1']));
  });

  test('reverts changes by other clients, and recreates deleted APIServices', async () => {
    const { cluster } = setUp();
    cluster.synced();
    await settle();
    const service = cluster.get('v1.a.example.com');
    cluster.put({ ...service, spec: { ...cluster.spec('v1.a.example.com'), versionPriority: 7 } });
    await settle();
    expect(cluster.spec('v1.a.example.com')['versionPriority']).toBe(100);
    cluster.remove('v1.a.example.com');
    await settle();
    expect(cluster.spec('v1.a.example.com')['versionPriority']).toBe(100);
  });

  test('removes APIServices that are no longer served, and only its own', async () => {
    const { cluster, state, services } = setUp();
    cluster.services.set('v1.other.example.com', {
      metadata: { name: 'v1.other.example.com' },
      spec: { service: { name: 'x' } },
    });
    cluster.synced();
    await settle();
    state.served = [];
    services.changed();
    await settle();
    expect([...cluster.services.keys()]).toEqual(['v1.other.example.com']);
  });

  const OURS = { service: { namespace: 'system', name: 'annex', port: 443 } };
  const LABELS = { 'app.kubernetes.io/managed-by': 'annex' };
  const roleOf = (name: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    name,
    uid: name,
  });

  test.each<[string, JsonObject, Partial<KubeObject['metadata']>, RegExp]>([
    ['a definition of the cluster', {}, {}, /GroupVersionTaken: .* the cluster itself, which serves a CustomResource/],
    [
      'another server',
      { service: { namespace: 'n', name: 'x' } },
      {},
      /Conflict: .* another server, the Service n\/x$/,
    ],
    ['one that nobody has labelled', OURS, {}, /Conflict: .* another server, the Service system\/annex$/],
    ...(['name', 'namespace'] as const).map((field): [string, JsonObject, KubeObject['metadata'], RegExp] => [
      `a release with another ${field} of the Service`,
      { service: { ...OURS.service, [field]: 'second' } },
      { labels: LABELS },
      /Conflict: .* another release of Annex, the Service .*second/,
    ]),
    [
      'a release with another owner',
      OURS,
      { labels: LABELS, ownerReferences: [roleOf('b')] },
      /Conflict: .* another rel/,
    ],
  ])('leaves a group version to %s', async (_, spec, metadata, why) => {
    const { cluster, state, services, reported } = setUp({ owner: 'a' });
    cluster.services.set('v1.a.example.com', { metadata: { name: 'v1.a.example.com', ...metadata }, spec });
    cluster.listener(ROLES_OF_A).replaced([{ metadata: { name: 'a', uid: 'a' } }]);
    cluster.synced();
    await settle();
    expect(cluster.writes).toEqual([]);
    expect(reported.filter((text) => text.startsWith('refused')).at(-1)).toMatch(why);
    // Neither when it is no longer served, nor when the group returns to the cluster.
    state.served = [];
    services.changed();
    state.route = 'Cluster';
    services.changed();
    await settle();
    expect(cluster.writes).toEqual([]);
    state.served = [version('a.example.com')];
    state.route = 'Ordinary';
    cluster.remove('v1.a.example.com');
    await settle();
    expect(cluster.writes).toEqual(['POST v1.a.example.com']);
  });

  test('adds no version to a group of somebody else, unless a flag allows it or the group is adopted', async () => {
    const { cluster, state, services, reported } = setUp();
    const other = { metadata: { name: 'v1beta1.a.example.com' }, spec: { service: { namespace: 'n', name: 'x' } } };
    cluster.services.set('v1beta1.a.example.com', other);
    cluster.services.set('v1.other.example.com', { metadata: { name: 'v1.other.example.com' }, spec: {} });
    cluster.synced();
    await settle();
    expect(cluster.writes).toEqual([]);
    expect(reported.filter((text) => text.startsWith('refused')).at(-1)).toMatch(
      /GroupTaken: the APIService v1beta1.a.example.com belongs to another server, .* need --allow-cluster-groups$/,
    );
    state.allowed.push('a.example.com');
    services.changed();
    await settle();
    expect(cluster.writes).toEqual(['POST v1.a.example.com']);
    // What this replica has registered is repaired in any case.
    state.allowed.length = 0;
    cluster.remove('v1.a.example.com');
    await settle();
    expect(cluster.writes.slice(1)).toEqual(['POST v1.a.example.com']);
    const adopted = setUp();
    adopted.state.route = 'Annex';
    adopted.cluster.services.set('v1beta1.a.example.com', other);
    adopted.cluster.synced();
    await settle();
    expect(adopted.cluster.writes).toEqual(['POST v1.a.example.com']);
  });

  test('registers a version when the last APIService of somebody else leaves the group', async () => {
    const { cluster } = setUp();
    const name = 'v1beta1.a.example.com';
    cluster.services.set(name, { metadata: { name }, spec: {} });
    cluster.synced();
    await settle();
    expect(cluster.writes).toEqual([]);
    cluster.remove(name);
    await settle();
    expect(cluster.writes).toEqual(['POST v1.a.example.com']);
  });

  test('a new CA is written to the APIService', async () => {
    const { cluster, state, services } = setUp();
    cluster.synced();
    await settle();
    state.bundle = 'CA2';
    services.changed();
    await settle();
    expect(cluster.spec('v1.a.example.com')['caBundle']).toBe(Buffer.from('CA2').toString('base64'));
  });

  describe('CAs of other replicas', () => {
    const name = 'v1.a.example.com';
    const HOUR = 3_600_000;
    const ca = (commonName: string, notAfter = Date.UTC(2100, 0)): string => {
      const { privateKey, publicKey } = generateKey();
      const request = { subject: { commonName }, publicKey, usage: 'ca' as const, notBefore: 0, notAfter };
      return createCertificate(request, { key: privateKey });
    };
    const [old, fresh] = [ca('old'), ca('new')];

    test('to connect anew, bundles get bytes that they never had, with the same certificates, which stay', async () => {
      const { cluster, services, clock, state } = setUp();
      state.bundle = fresh;
      cluster.synced();
      await settle();
      const bundle = (): string =>
        Buffer.from(stringAt(cluster.spec('v1.a.example.com'), 'caBundle') ?? '', 'base64').toString();
      const plain = bundle();
      const seen = new Set([plain]);
      for (let i = 0; i < 3; i++) {
        clock.advance(1_000);
        await services.reconnect();
        await settle();
        expect(bundle().replace(/^#.*\n/gm, '')).toBe(plain);
        seen.add(bundle());
      }
      expect(seen.size).toBe(4);
    });
    const begin = async (own: string) => {
      const made = setUp();
      const { cluster, state } = made;
      state.bundle = own;
      cluster.synced();
      await settle();
      const bundle = (): string =>
        Buffer.from(stringAt(cluster.spec(name), 'caBundle') ?? '', 'base64').toString('utf8');
      const others = async (text: string): Promise<string> => {
        const caBundle = Buffer.from(text).toString('base64');
        cluster.put({ ...cluster.get(name), spec: { ...cluster.spec(name), caBundle } });
        await settle();
        return bundle();
      };
      return { ...made, bundle, others };
    };

    test('are kept, and missing CAs are added', async () => {
      const { cluster, services, others } = await begin(old);
      expect(await others(fresh + old)).toBe(fresh + old);
      services.changed();
      await settle();
      expect(cluster.writes).toEqual([`POST ${name}`]);
      expect(await others(fresh)).toBe(old + fresh);
      expect(await others('')).toBe(old);
    });

    test('are removed an hour after they are no longer needed', async () => {
      const { clock, state, services, bundle } = await begin(old);
      state.bundle = fresh;
      services.changed();
      await settle();
      expect(bundle()).toBe(fresh + old);
      clock.advance(HOUR - 1);
      await settle();
      expect(bundle()).toBe(fresh + old);
      clock.advance(1);
      await settle();
      expect(bundle()).toBe(fresh);
    });

    test('stay for another hour whenever a client adds them again', async () => {
      const { clock, bundle, others } = await begin(fresh);
      await others(old + fresh);
      clock.advance(HOUR);
      await settle();
      expect(bundle()).toBe(fresh);
      expect(await others(old + fresh)).toBe(old + fresh);
      clock.advance(HOUR - 1);
      await settle();
      expect(bundle()).toBe(old + fresh);
      clock.advance(1);
      await settle();
      expect(bundle()).toBe(fresh);
    });

    test('are dropped if they have expired or are not certificates', async () => {
      const { others } = await begin(fresh);
      const none = `-----BEGIN CERTIFICATE-----\n${Buffer.from('none').toString('base64')}\n-----END CERTIFICATE-----\n`;
      expect(await others(ca('over', HOUR) + none)).toBe(fresh);
    });

    test('isTrusted reports whether all APIServices have a CA, once they are listed', async () => {
      const { services, cluster, state, others } = await begin(old);
      const [a, b] = [new X509Certificate(old), new X509Certificate(fresh)];
      expect([services.isTrusted(a), services.isTrusted(b)]).toEqual([true, false]);
      await others(fresh + old);
      expect([services.isTrusted(a), services.isTrusted(b)]).toEqual([true, true]);
      cluster.services.set('v1.b.example.com', { metadata: { name: 'v1.b.example.com' }, spec: {} });
      state.served = [version('a.example.com'), version('b.example.com')];
      cluster.synced();
      await settle();
      // The APIService of another server does not count.
      expect(services.isTrusted(b)).toBe(true);
      const other = setUp();
      expect(other.services.isTrusted(a)).toBe(false);
    });

    test("two replicas with different CAs do not remove each other's CAs", async () => {
      const first = await begin(old);
      const second = await begin(fresh);
      for (let i = 0; i < 5; i++) {
        await second.others(first.bundle());
        await first.others(second.bundle());
      }
      expect([first.bundle(), second.bundle()]).toEqual([fresh + old, fresh + old]);
      expect(first.cluster.writes).toEqual([`POST ${name}`]);
    });
  });

  describe('the start', () => {
    const started = (done: Promise<void>): (() => boolean) => {
      let over = false;
      void done.then(() => (over = true));
      return () => over;
    };

    test('is over when all served group versions are registered', async () => {
      const { cluster, state, begun } = setUp({ owner: 'annex' });
      state.served = [version('a.example.com')];
      const over = started(begun);
      cluster.synced();
      await settle();
      expect(over()).toBe(false);
      cluster.listener(ROLES).replaced([{ metadata: { name: 'annex', uid: 'u1' } }]);
      await settle();
      expect(over()).toBe(true);
      expect(cluster.writes).toEqual(['POST v1.a.example.com']);
    });

    test.each([
      ['cannot be read', (cluster: Cluster) => cluster.fail(SERVICES, new ClusterError(403, 'forbidden'))],
      [
        'cannot be written',
        (cluster: Cluster) => {
          cluster.refusal = new ClusterError(403, 'forbidden');
          cluster.synced();
        },
      ],
    ])('does not wait for APIServices that %s', async (_, fail) => {
      const { cluster, begun } = setUp();
      const over = started(begun);
      fail(cluster);
      await settle();
      expect(over()).toBe(true);
    });

    test('waits ten seconds for a cluster that does not respond', async () => {
      const { clock, begun } = setUp();
      const over = started(begun);
      clock.advance(9_999);
      await settle();
      expect(over()).toBe(false);
      clock.advance(1);
      await settle();
      expect(over()).toBe(true);
    });
  });

  test('publishes a new fingerprint after a delay, and keeps that of another replica', async () => {
    const { cluster, state, services, clock } = setUp();
    cluster.synced();
    await settle();
    const shown = (): unknown => cluster.services.get('v1.a.example.com')?.metadata.annotations?.[FINGERPRINT];
    state.served = [version('a.example.com', 'v1', 0, 'f2')];
    services.servedChanged();
    await settle();
    expect(shown()).toBe('f1');
    clock.advance(300);
    await settle();
    expect(shown()).toBe('f2');
    // Another replica has published a newer fingerprint.
    const service = cluster.get('v1.a.example.com');
    cluster.put({ ...service, metadata: { ...service.metadata, annotations: { [FINGERPRINT]: 'f3' } } });
    await settle();
    expect(shown()).toBe('f3');
  });

  test('a failed write is reported, and retried', async () => {
    const { cluster, clock, reported } = setUp();
    cluster.refusal = new ClusterError(403, 'forbidden');
    cluster.synced();
    await settle();
    expect(reported.at(-1)).toBe('failed a.example.com/v1: ClusterError: forbidden');
    cluster.refusal = undefined;
    clock.advance(60_000);
    await settle();
    expect(cluster.writes).toEqual(['POST v1.a.example.com']);
  });

  test('an APIService in order does not hide the failure of another one', async () => {
    const { cluster, clock, state, reported } = setUp();
    cluster.synced();
    await settle();
    cluster.refusal = new ClusterError(403, 'forbidden');
    state.served = [version('a.example.com'), version('b.example.com')];
    cluster.synced();
    await settle();
    expect(reported.slice(-2).sort()).toEqual([
      'failed b.example.com/v1: ClusterError: forbidden',
      'registered a.example.com/v1',
    ]);
    reported.length = 0;
    cluster.synced();
    await settle();
    expect(reported).not.toContain('in order');
    cluster.refusal = undefined;
    clock.advance(60_000);
    await settle();
    expect(reported).toContain('in order');
  });

  test('a failure is dropped once the group version is no longer served', async () => {
    const { cluster, clock, state, reported } = setUp();
    cluster.refusal = new ClusterError(403, 'forbidden');
    cluster.synced();
    await settle();
    state.served = [];
    reported.length = 0;
    clock.advance(60_000);
    await settle();
    expect(reported).toEqual(['in order']);
  });

  test('a failed list of APIServices is reported', () => {
    const { cluster, reported } = setUp();
    cluster.fail(SERVICES, new ClusterError(403, 'forbidden'));
    expect(reported).toEqual(['unreadable: ClusterError: forbidden']);
  });
});

describe('an owner', () => {
  const role = (uid: string): KubeObject => ({ metadata: { name: 'annex', uid } });
  const references = (cluster: Cluster): unknown =>
    cluster.services.get('v1.a.example.com')?.metadata.ownerReferences?.map(({ uid }) => uid);

  test('is waited for, and set as the owner reference', async () => {
    const { cluster } = setUp({ owner: 'annex' });
    cluster.synced();
    await settle();
    expect(cluster.writes).toEqual([]);
    cluster.listener(ROLES).replaced([role('u1')]);
    await settle();
    expect(references(cluster)).toEqual(['u1']);
  });

  test('that is recreated replaces the old owner reference, and other owners stay', async () => {
    const { cluster } = setUp({ owner: 'annex' });
    cluster.synced();
    cluster.listener(ROLES).replaced([role('u1')]);
    await settle();
    const service = cluster.get('v1.a.example.com');
    const other = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n' };
    const ownerReferences = [...(service.metadata.ownerReferences ?? []), other];
    cluster.put({ ...service, metadata: { ...service.metadata, ownerReferences } });
    cluster.listener(ROLES).upsert(role('u2'));
    await settle();
    expect(references(cluster)).toEqual(['n', 'u2']);
  });

  test('that is deleted ends registration: APIServices that are garbage-collected are not recreated', async () => {
    const { cluster, reported } = setUp({ owner: 'annex' });
    cluster.synced();
    cluster.listener(ROLES).replaced([role('u1')]);
    await settle();
    cluster.listener(ROLES).delete(role('u1'));
    cluster.listener(ROLES).responded?.();
    cluster.remove('v1.a.example.com');
    await settle();
    expect([...cluster.services.keys()]).toEqual([]);
    expect(reported.at(-1)).toBe('owner: Error: ClusterRole annex not found; registration requires it');
  });

  test('that may not be read is left out', async () => {
    const { cluster, reported } = setUp({ owner: 'annex' });
    cluster.synced();
    cluster.fail(ROLES, new ClusterError(403, 'forbidden'));
    await settle();
    expect(references(cluster)).toBeUndefined();
    expect(cluster.writes).toEqual(['POST v1.a.example.com']);
    expect(reported).toContain('owner: ClusterError: forbidden');
  });

  test('that cannot be read at the moment is waited for', async () => {
    const { cluster } = setUp({ owner: 'annex' });
    cluster.synced();
    cluster.fail(ROLES, new ClusterError(0, 'away'));
    await settle();
    expect(cluster.writes).toEqual([]);
  });
});
