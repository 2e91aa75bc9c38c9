import { FakeLoopbackClients } from '../../test/fakes/registry/loopback-client.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { LegacyTokenCleaner } from './service-accounts/legacy-token-cleaner.js';
import { dayOf, LegacyTokenTracking, parseDay, trackedSince } from './service-accounts/legacy-token-tracking.js';

const DAY = 86_400_000;
const PERIOD = 10 * DAY;
const MAP = 'kube-system/kube-apiserver-legacy-service-account-token-tracking';
const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

let clients: FakeLoopbackClients;
let clock: FakeClock;
let errors: string[];
let stop: AbortController;
const of = (resource: string) => clients.for({ group: '', resource });
const failed = (where: string, error: unknown): void => void errors.push(`${where}: ${String(error)}`);

beforeEach(() => {
  clients = new FakeLoopbackClients();
  clock = new FakeClock();
  errors = [];
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  expect(errors).toEqual([]);
});

test.each([
  ['2026-02-28', Date.UTC(2026, 1, 28)],
  ['2026-02-30', undefined],
  ['2026-2-3', undefined],
  ['', undefined],
])('parseDay(%s)', (text, millis) => {
  expect(parseDay(text)).toBe(millis);
});

describe('tracking', () => {
  const data = () => of('configmaps').objects.get(MAP)?.['data'];

  test('begins once, and reports since when', async () => {
    expect(await trackedSince(clients)).toBeUndefined();
    new LegacyTokenTracking(clients, clock, failed).start(stop.signal);
    await settle();
    expect(data()).toEqual({ since: '2026-01-01' });
    expect(await trackedSince(clients)).toBe(Date.UTC(2026, 0, 2));
    clock.advance(DAY);
    await settle();
    expect(data()).toEqual({ since: '2026-01-01' });
  });

  test('an invalid date is replaced, other keys stay', async () => {
    const [namespace, name] = MAP.split('/') as [string, string];
    of('configmaps').put({ metadata: { namespace, name }, data: { since: 'x', note: 'y' } });
    new LegacyTokenTracking(clients, clock, failed).start(stop.signal);
    await settle();
    expect(data()).toEqual({ since: '2026-01-01', note: 'y' });
  });

  test('a deleted config map is created again after half an hour', async () => {
    new LegacyTokenTracking(clients, clock, failed).start(stop.signal);
    await settle();
    const [namespace, name] = MAP.split('/') as [string, string];
    await of('configmaps').delete(namespace, name);
    await settle();
    expect(data()).toBeUndefined();
    clock.advance(30 * 60_000);
    await settle();
    expect(data()).toEqual({ since: '2026-01-01' });
  });
});

describe('the cleaner', () => {
  const token = (name: string, over: { labels?: Record<string, string>; type?: string; uid?: string } = {}) => ({
    type: over.type ?? 'kubernetes.io/service-account-token',
    metadata: {
      namespace: 'n',
      name,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: {
        'kubernetes.io/service-account.name': 'robot',
        'kubernetes.io/service-account.uid': over.uid ?? 'robot-uid',
      },
      labels: over.labels ?? {},
    },
  });
  const used = (day: string) => ({ labels: { 'kubernetes.io/legacy-token-last-used': day } });
  const marked = (name: string): string | undefined =>
    of('secrets').objects.get(`n/${name}`)?.metadata.labels?.['kubernetes.io/legacy-token-invalid-since'];

  async function start(...secrets: ReturnType<typeof token>[]): Promise<void> {
    const [namespace, name] = MAP.split('/') as [string, string];
    of('configmaps').put({ metadata: { namespace, name }, data: { since: '2026-01-01' } });
    for (const secret of secrets) of('secrets').put(secret);
    of('serviceaccounts').put({
      metadata: { namespace: 'n', name: 'robot', uid: 'robot-uid' },
      secrets: secrets
        .filter(({ metadata }) => metadata.name !== 'manual')
        .map(({ metadata }) => ({ name: metadata.name })),
    });
    void new LegacyTokenCleaner({ clients, readers: clients, clock, periodMillis: PERIOD, onError: failed }).run(
      stop.signal,
    );
    await settle();
  }
  const pass = async (days: number): Promise<void> => {
    for (let i = 0; i < days; i++) {
      clock.advance(DAY);
      await settle();
    }
  };

  test('marks an idle token, and deletes it after it has been marked for the same period', async () => {
    await start(token('idle'));
    // Ten days without use, not counting the day on which tracking began.
    await pass(10);
    expect(marked('idle')).toBeUndefined();
    await pass(1);
    expect(marked('idle')).toBe('2026-01-12');
    await pass(10);
    expect(of('secrets').objects.has('n/idle')).toBe(true);
    await pass(1);
    expect(of('secrets').objects.has('n/idle')).toBe(false);
  });

  const kept: readonly (readonly [string, ReturnType<typeof token>])[] = [
    ['used not long ago', token('t', used('2026-01-05'))],
    ['a last use that cannot be read', token('t', used('lately'))],
    ['another type', token('t', { type: 'Opaque' })],
    ['made by hand', token('manual')],
    ['of an account that was made anew', token('t', { uid: 'other' })],
  ];
  test.each(kept)('keeps: %s', async (_name, secret) => {
    await start(secret);
    await pass(12);
    expect(marked(secret.metadata.name)).toBeUndefined();
  });

  test('keeps tokens that a pod mounts, and tokens that were created later', async () => {
    of('pods').put({
      metadata: { namespace: 'n', name: 'p' },
      spec: { volumes: [{ projected: { sources: [{ secret: { name: 'mounted' } }] } }] },
    });
    const late = token('late');
    late.metadata.creationTimestamp = `${dayOf(clock.now() + 5 * DAY)}T00:00:00Z`;
    await start(token('mounted'), late, token('long ago', used('2025-12-01')));
    await pass(12);
    expect([marked('mounted'), marked('late'), marked('long ago')]).toEqual([undefined, undefined, '2026-01-12']);
  });
});
