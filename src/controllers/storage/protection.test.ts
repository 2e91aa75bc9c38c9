import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { FakeLoopbackClient } from '../../../test/fakes/registry/loopback-client.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { claimsInUse, claimsNamed, StorageProtection } from './protection.js';

const FINALIZER = 'kubernetes.io/pvc-protection';
const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};
const claim = (name: string, more: object = {}): KubeObject => ({
  metadata: { name, namespace: 'ns', finalizers: [FINALIZER, 'example.com/own'], ...more },
});
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const pod = (spec: object, metadata: object = {}): KubeObject => ({
  metadata: { name: 'p', namespace: 'ns', ...metadata },
  spec: { nodeName: 'n', ...spec },
});

test('the finalizer is removed once the object is being deleted and unused', async () => {
  const client = new FakeLoopbackClient({ group: '', resource: 'persistentvolumeclaims' });
  const used = new Set(['used']);
  const protection = new StorageProtection({
    client,
    queue: 'pvcprotection',
    finalizer: FINALIZER,
    clock: new FakeClock(),
    isUsed: ({ metadata }) => Promise.resolve(used.has(metadata.name ?? '')),
    onError: (_key, error) => {
      throw error as Error;
    },
  });
  client.put(claim('alive'));
  client.put(claim('free', deleted));
  client.put(claim('used', deleted));
  const abort = new AbortController();
  protection.start(abort.signal);
  const finalizers = (name: string): unknown =>
    [...client.objects.values()].find(({ metadata }) => metadata.name === name)?.metadata.finalizers;
  await settle();
  expect(['alive', 'free', 'used'].map(finalizers)).toEqual([
    [FINALIZER, 'example.com/own'],
    ['example.com/own'],
    [FINALIZER, 'example.com/own'],
  ]);
  used.clear();
  protection.reconsider('ns', 'used');
  await settle();
  expect(finalizers('used')).toEqual(['example.com/own']);
  abort.abort();
});

test('scheduled pods use their claims', () => {
  const volumes = [
    { name: 'a', persistentVolumeClaim: { claimName: 'c' } },
    { name: 'e', ephemeral: {} },
    { name: 'x' },
  ];
  expect(claimsInUse(pod({ volumes }))).toEqual(['c', 'p-e']);
  expect(claimsInUse(pod({ volumes, nodeName: '' }))).toEqual([]);
  expect(claimsInUse(pod({ volumes }, { ...deleted, deletionGracePeriodSeconds: 0 }))).toEqual(['c']);
  expect(claimsNamed(pod({ volumes, nodeName: '' }))).toEqual(['c', 'p-e']);
});
