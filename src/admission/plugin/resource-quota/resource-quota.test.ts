import { newConflict } from '../../../apimachinery/meta/errors.js';
import { objectAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { type Clock, systemClock } from '../../../util/clock.js';
import { fakeAttributes } from '../../../../test/fakes/admission/attributes.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { ResourceQuotaAdmission } from './resource-quota.js';

/** The quotas of one namespace, in a store that refuses writes with an outdated resource version. */
class FakeQuotas {
  readonly stored = new Map<string, KubeObject>();
  writes = 0;
  /** Called before each write. */
  meanwhile: (() => void) | undefined;
  /** The content of the cache, if it lags behind the store. */
  stale: readonly KubeObject[] | undefined;

  add(name: string, hard: string, used: string): void {
    const previous = this.stored.get(name)?.metadata.resourceVersion ?? '0';
    this.stored.set(name, {
      metadata: { name, namespace: 'ns', uid: name, resourceVersion: String(Number(previous) + 1) },
      status: { hard: { configmaps: hard }, used: { configmaps: used } },
    });
  }

  used(name: string): unknown {
    return objectAt(objectAt(this.stored.get(name), 'status'), 'used')?.['configmaps'];
  }

  cached(namespace: string): readonly KubeObject[] {
    return namespace === 'ns' ? (this.stale ?? [...this.stored.values()]) : [];
  }

  live(_namespace: string, name: string): Promise<KubeObject | undefined> {
    return Promise.resolve(this.stored.get(name));
  }

  async updateStatus(quota: KubeObject): Promise<KubeObject> {
    await Promise.resolve();
    this.meanwhile?.();
    this.writes++;
    const name = quota.metadata.name ?? '';
    const version = this.stored.get(name)?.metadata.resourceVersion;
    if (version !== quota.metadata.resourceVersion)
      throw newConflict({ group: '', resource: 'resourcequotas' }, name, 'changed');
    const next = { ...quota, metadata: { ...quota.metadata, resourceVersion: String(Number(version) + 1) } };
    this.stored.set(name, next);
    return next;
  }
}

const map = (name: string, given: Partial<AdmissionAttributes> = {}): AdmissionAttributes =>
  fakeAttributes({ object: { metadata: { name } }, ...given });

async function outcomes(plugin: ResourceQuotaAdmission, ...changes: AdmissionAttributes[]): Promise<string[]> {
  const settled = await Promise.allSettled(changes.map(async (change) => plugin.validate(change)));
  return settled.map((one) => (one.status === 'fulfilled' ? 'allowed' : (one.reason as Error).message));
}

let quotas: FakeQuotas;
let plugin: ResourceQuotaAdmission;
beforeEach(() => {
  quotas = new FakeQuotas();
  plugin = new ResourceQuotaAdmission(quotas, systemClock);
});

const EXCEEDED = (name: string, used: string, limit: string): string =>
  `configmaps "${name}" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=${used}, limited: configmaps=${limit}`;

test('without a matching quota, the request is allowed synchronously', () => {
  expect(plugin.validate(map('a'))).toBeUndefined();
  quotas.add('q', '1', '0');
  expect(plugin.validate(map('a', { namespace: 'other' }))).toBeUndefined();
  expect(plugin.validate(map('a', { subresource: 'status' }))).toBeUndefined();
  expect(plugin.validate(map('a', { operation: 'UPDATE' }))).toBeUndefined();
  expect(plugin.validate(map('a', { namespace: '' }))).toBeUndefined();
});

test('concurrent requests are charged in few writes, and those beyond the limit refused', async () => {
  quotas.add('q', '3', '0');
  expect(await outcomes(plugin, map('a'), map('b'), map('c'), map('d'))).toEqual([
    'allowed',
    'allowed',
    'allowed',
    EXCEEDED('d', '3', '3'),
  ]);
  expect(quotas.used('q')).toBe('3');
  expect(quotas.writes).toBeLessThan(3);
});

test('a dry run is checked but not charged', async () => {
  quotas.add('q', '1', '0');
  expect(await outcomes(plugin, map('a', { dryRun: true }))).toEqual(['allowed']);
  expect(quotas.writes).toBe(0);
  quotas.add('q', '1', '1');
  expect(await outcomes(plugin, map('a', { dryRun: true }))).toEqual([EXCEEDED('a', '1', '1')]);
});

test('concurrent changes by another writer count', async () => {
  quotas.add('q', '3', '0');
  quotas.meanwhile = () => {
    quotas.meanwhile = undefined;
    quotas.add('q', '3', '2');
  };
  expect(await outcomes(plugin, map('a'))).toEqual(['allowed']);
  expect(quotas.used('q')).toBe('3');
  expect(await outcomes(plugin, map('b'))).toEqual([EXCEEDED('b', '3', '3')]);
});

test('refuses the request if another writer used up the quota', async () => {
  quotas.add('q', '3', '0');
  quotas.meanwhile = () => {
    quotas.meanwhile = undefined;
    quotas.add('q', '3', '3');
  };
  expect(await outcomes(plugin, map('a'))).toEqual([EXCEEDED('a', '3', '3')]);
});

test('a quota that is deleted in the meantime limits nothing', async () => {
  quotas.add('q', '1', '0');
  quotas.meanwhile = () => quotas.stored.delete('q');
  expect(await outcomes(plugin, map('a'))).toEqual(['allowed']);
});

test('gives up after eight conflicts', async () => {
  quotas.add('q', '100', '0');
  quotas.meanwhile = () => {
    quotas.add('q', '100', '0');
  };
  const [message] = await outcomes(plugin, map('a'));
  expect(message).toContain('Operation cannot be fulfilled on resourcequotas "q"');
  expect(quotas.writes).toBe(8);
});

test('a stale cache does not let requests exceed the quota', async () => {
  quotas.add('q', '1', '0');
  quotas.stale = [...quotas.stored.values()];
  expect(await outcomes(plugin, map('a'))).toEqual(['allowed']);
  expect(await outcomes(plugin, map('b'))).toEqual([EXCEEDED('b', '1', '1')]);
});

test('a store that does not respond results in an internal error', async () => {
  let fire = (): void => undefined;
  const clock: Clock = {
    ...systemClock,
    setTimer: (_, callback) => {
      fire = callback;
      return { cancel: () => undefined };
    },
  };
  quotas.add('q', '1', '0');
  quotas.updateStatus = () => new Promise(() => undefined);
  const waiting = outcomes(new ResourceQuotaAdmission(quotas, clock), map('a'));
  fire();
  expect(await waiting).toEqual(['Internal error occurred: resource quota evaluation timed out']);
});
