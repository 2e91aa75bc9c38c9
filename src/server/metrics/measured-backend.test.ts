import { Registry } from 'prom-client';
import { encodeObject } from '../../storage/encode.js';
import { StorageError } from '../../storage/errors.js';
import type { Backend } from '../../storage/interfaces.js';
import { layered } from '../../storage/layered.js';
import { MemoryBackend } from '../../../test/fakes/storage/memory-backend.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { measuredBackend, StoreMetrics } from './measured-backend.js';

const takesAll = (): string | undefined => undefined;

function measured(backend: Partial<Backend>, refusal: (operation: string) => string | undefined = takesAll) {
  const reported: unknown[] = [];
  const registry = new Registry();
  const troubles = { requestFailed: (operation: string, error: unknown) => void reported.push([operation, error]) };
  const tools = { metrics: new StoreMetrics(registry), troubles, clock: new FakeClock(), memory: { refusal } };
  return { reported, registry, backend: measuredBackend(layered(new MemoryBackend(), backend), tools) };
}

test('has the capabilities of its backend, and no others', () => {
  const state = { ok: false, reason: 'no write has succeeded for 12 s' };
  const health = { ping: () => Promise.resolve(), writing: () => state, following: () => state, same: () => state };
  const indexes = { keep: () => undefined };
  const { backend } = measured({ health, indexes, revisionNow: () => 7 });
  expect([backend.health, backend.indexes, backend.revisionNow()]).toEqual([health, indexes, 7]);
  const { staging, presence, projection, localStates, knownRevisions, routing } = backend;
  expect([staging, presence, projection, localStates, knownRevisions, routing]).toEqual(Array(6).fill(undefined));
});

test('failures are counted and reported', async () => {
  const error = new StorageError('unavailable', 'MongoDB does not answer');
  const fail = (): Promise<never> => Promise.reject(error);
  const { backend, reported, registry } = measured({ get: fail, currentRevision: fail });
  await expect(backend.get('configmaps', 'a/b')).rejects.toBe(error);
  await expect(backend.currentRevision()).rejects.toBe(error);
  expect(reported).toEqual([
    ['get', error],
    ['revision', error],
  ]);
  expect(await registry.metrics()).toContain(
    'etcd_request_errors_total{operation="get",group="",resource="configmaps"} 1',
  );
});

test('refuses writes while memory is short, but not deletions', async () => {
  const written: unknown[] = [];
  const write = (request: unknown): Promise<never> => {
    written.push(request);
    return Promise.resolve({ outcome: 'conflict', current: undefined } as never);
  };
  const { backend } = measured({ write }, (operation) => `no room for ${operation}s`);
  const value = encodeObject({});
  const request = { resource: 'configmaps', key: 'a/b', expected: 0, value };
  await expect(backend.write(request)).rejects.toMatchObject({ code: 'unavailable', message: 'no room for creates' });
  await expect(backend.write({ ...request, expected: 3 })).rejects.toMatchObject({ message: 'no room for updates' });
  await backend.write({ ...request, expected: 3, value: undefined });
  expect(written).toHaveLength(1);
});
