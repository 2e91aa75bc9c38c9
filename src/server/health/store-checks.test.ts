import { storeChecks } from './store-checks.js';

const gone = (): Promise<void> => Promise.reject(new Error('MongoDB does not answer'));
const well = { ok: true, reason: '' };
const cacher = { healthy: () => well };

const names = (checks: ReturnType<typeof storeChecks>, endpoint: 'healthz' | 'livez' | 'readyz'): string[] =>
  checks.filter(({ endpoints }) => endpoints.includes(endpoint)).map(({ name }) => name);

describe('store checks by endpoint', () => {
  test.each([
    ['standalone, all of them fail it, as in kube-apiserver', false, ['etcd']],
    ['in a cluster, a server stays alive without its store', true, []],
  ])('%s', (_, aggregated, livez) => {
    const checks = storeChecks({
      store: { ping: gone, following: () => well, writing: () => well, same: () => well },
      cacher,
      aggregated,
    });
    expect(names(checks, 'livez')).toEqual(livez);
    expect(names(checks, 'healthz')).toEqual(['etcd']);
    expect(names(checks, 'readyz')).toEqual([
      'etcd',
      'etcd-readiness',
      'informer-sync',
      'change-stream',
      'store-writes',
      'store-log',
    ]);
  });

  test('a store without a change stream has no check for it', () => {
    const store = { ping: gone, following: undefined, writing: () => well, same: () => well };
    const checks = storeChecks({ store, cacher, aggregated: true });
    expect(names(checks, 'readyz')).toEqual(['etcd', 'etcd-readiness', 'informer-sync', 'store-writes']);
  });

  test('each check fails with its own reason', async () => {
    const broken = { ok: false, reason: 'the change stream failed' };
    const stuck = { ok: false, reason: 'no write has succeeded for 12 s' };
    const cold = { healthy: () => ({ ok: false, reason: 'not yet' }) };
    const checks = storeChecks({
      store: { ping: gone, following: () => broken, writing: () => stuck, same: () => well },
      cacher: cold,
      aggregated: true,
    });
    const failures = await Promise.all(
      checks.map(async (one) => {
        try {
          await one.check();
          return `${one.name} ok`;
        } catch (error) {
          return `${one.name}: ${error instanceof Error ? error.message : String(error)}`;
        }
      }),
    );
    expect(failures).toEqual([
      'etcd: MongoDB does not answer',
      'etcd-readiness: MongoDB does not answer',
      'informer-sync: not yet',
      'change-stream: the change stream failed',
      'store-writes: no write has succeeded for 12 s',
      'store-log ok',
    ]);
  });
});

test('one ping of the store serves both of its checks', async () => {
  let pings = 0;
  const ping = (): Promise<void> => {
    pings++;
    return Promise.resolve();
  };
  const store = { ping, following: undefined, writing: () => well, same: () => well };
  const checks = storeChecks({ store, cacher, aggregated: false }).filter(({ name }) => name.startsWith('etcd'));
  for (const one of checks) await one.check();
  expect([checks.length, pings]).toEqual([2, 1]);
  await checks[1]?.check();
  expect(pings).toBe(2);
});

describe('a replica on MongoDB', () => {
  const broken = { ok: false, reason: 'the change stream failed' };
  const stuck = { ok: false, reason: 'no write has succeeded for 12 s' };
  const cold = { healthy: () => ({ ok: false, reason: 'not yet' }) };
  const failing = (outage: { age: number | undefined; steadyMillis: number }, same = well): string[] =>
    storeChecks({
      store: { ping: gone, following: () => broken, writing: () => stuck, same: () => same },
      cacher: cold,
      aggregated: true,
      outage: { ...outage, reason: 'MongoDB has not answered for 20 s' },
    }).flatMap((one) => {
      const { name, endpoints, reportedBy = [] } = one;
      try {
        void one.check();
        return [];
      } catch (error) {
        const where = [...endpoints, ...reportedBy.map((endpoint) => `(${endpoint})`)].join(' ');
        return [`${name} ${where}: ${error instanceof Error ? error.message : ''}`];
      }
    });

  test('stays ready while MongoDB is away, and while it recovers', () => {
    const away = [
      'etcd healthz (readyz): MongoDB has not answered for 20 s',
      'etcd-readiness (readyz): MongoDB has not answered for 20 s',
    ];
    const writes = 'store-writes (readyz): no write has succeeded for 12 s';
    expect(failing({ age: 20_000, steadyMillis: 0 })).toEqual([...away, writes]);
    expect(failing({ age: undefined, steadyMillis: 9_999 })).toEqual([writes]);
  });

  test('is unready if it does not follow a MongoDB that answers', () => {
    expect(failing({ age: undefined, steadyMillis: 10_000 })).toEqual([
      'informer-sync readyz: not yet',
      'change-stream readyz: the change stream failed',
      'store-writes (readyz): no write has succeeded for 12 s',
    ]);
  });

  test('is unready while its log is not the one that it opened, whether MongoDB answers or not', () => {
    const replaced = { ok: false, reason: 'the log was replaced' };
    for (const age of [undefined, 20_000])
      expect(failing({ age, steadyMillis: 0 }, replaced)).toContain('store-log readyz: the log was replaced');
  });
});
