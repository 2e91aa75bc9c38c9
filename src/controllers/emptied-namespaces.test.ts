import { FakeClock } from '../../test/fakes/util/clock.js';
import type { GroupResource, KubeObject } from '../apimachinery/meta/meta.js';
import type { LoopbackClient, LoopbackClients } from '../registry/rest/loopback-client.js';
import { EmptiedNamespaces } from './emptied-namespaces.js';

const REPORTS = { group: 'example.com', resource: 'reports' };

function setUp() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const told: string[] = [];
  const namespaces = new Map<string, KubeObject>();
  const objects = new Map<string, number>();
  const store = { away: false };
  const client = (type: GroupResource): Pick<LoopbackClient, 'list' | 'deleteCollection'> => ({
    list: (namespace) =>
      store.away
        ? Promise.reject(new Error('away'))
        : Promise.resolve(Array.from({ length: objects.get(namespace) ?? 0 }, () => ({ metadata: {} }))),
    deleteCollection: (namespace) => {
      told.push(`delete ${type.resource} in ${namespace}`);
      objects.delete(namespace);
      return Promise.resolve();
    },
  });
  const emptied = new EmptiedNamespaces({
    client: { must: (_method, path) => Promise.resolve(namespaces.get(path.split('/').at(-1) ?? '')) },
    clients: { for: client } as unknown as LoopbackClients,
    clock,
    signal: stop.signal,
    deleted: (namespace, { resource }, count) => void told.push(`${count} ${resource} of ${namespace} deleted`),
    createdAgain: (namespace) => void told.push(`${namespace} is there again`),
    failed: (namespace, error) => void told.push(`${namespace}: ${error instanceof Error ? error.message : ''}`),
  });
  const pass = async (millis: number): Promise<void> => {
    clock.advance(millis);
    for (let i = 0; i < 50; i++) await Promise.resolve();
  };
  return { told, namespaces, objects, store, emptied, pass, stop };
}

test('objects that were there after all are deleted once the namespace is gone', async () => {
  const { told, namespaces, objects, emptied, pass } = setUp();
  expect([emptied.add('gone', REPORTS), emptied.add('gone', REPORTS), emptied.add('empty', REPORTS)]).toEqual([
    true,
    true,
    true,
  ]);
  objects.set('gone', 2);
  namespaces.set('gone', { metadata: { name: 'gone', deletionTimestamp: '2026-01-01T00:00:00Z' } });
  void emptied.settle();
  await pass(0);
  expect(told).toEqual([]);
  namespaces.delete('gone');
  await pass(5_000);
  expect(told).toEqual(['delete reports in gone', '2 reports of gone deleted']);
  await pass(60_000);
  expect(told).toHaveLength(2);
});

test('a namespace that was created again is left alone, and named if it has objects', async () => {
  const { told, namespaces, objects, emptied, pass } = setUp();
  emptied.add('again', REPORTS);
  emptied.add('bare', REPORTS);
  namespaces.set('again', { metadata: { name: 'again' } });
  namespaces.set('bare', { metadata: { name: 'bare' } });
  objects.set('again', 1);
  void emptied.settle();
  await pass(0);
  expect(told).toEqual(['again is there again']);
});

test('a failure is told and tried again', async () => {
  const { told, store, objects, emptied, pass } = setUp();
  emptied.add('gone', REPORTS);
  objects.set('gone', 1);
  store.away = true;
  void emptied.settle();
  await pass(0);
  expect(told).toEqual(['gone: away']);
  store.away = false;
  await pass(5_000);
  expect(told.at(-1)).toBe('1 reports of gone deleted');
});
