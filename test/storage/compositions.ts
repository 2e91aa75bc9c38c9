import { randomBytes } from 'node:crypto';
import { Registry } from 'prom-client';
import { measuredBackend, StoreMetrics } from '../../src/server/metrics/measured-backend.js';
import { encryptedBackend } from '../../src/storage/encryption/encrypted-backend.js';
import { Gcm } from '../../src/storage/encryption/ciphers.js';
import { PrefixTransformers } from '../../src/storage/encryption/transformer.js';
import type { Backend } from '../../src/storage/interfaces.js';
import { routedBackend } from '../../src/storage/routed-backend.js';
import { systemClock } from '../../src/util/clock.js';
import { MemoryBackend, MemoryData } from '../fakes/storage/memory-backend.js';
import type { StoreFixture } from './fixtures.js';

export const memory: StoreFixture = {
  name: 'memory',
  usesClock: true,
  prepare: () => {
    const data = new MemoryData();
    return Promise.resolve({
      backend: (options) => new MemoryBackend({ data, ...options }),
      dispose: () => Promise.resolve(),
    });
  },
};

const sealing = { prefix: 'k8s:enc:aesgcm:v1:key:', transformer: new Gcm(randomBytes(32)) };
const transformer = new PrefixTransformers([sealing], 'no matching prefix found');

function encrypt(backend: Backend): Backend {
  const onUnreadable = (resource: string, key: string): never => {
    throw new Error(`${resource} ${key} cannot be read`);
  };
  return encryptedBackend({ backend, transformers: { of: () => transformer }, clock: systemClock, onUnreadable });
}

function measure(backend: Backend): Backend {
  const metrics = new StoreMetrics(new Registry());
  const troubles = { requestFailed: () => undefined };
  return measuredBackend(backend, { metrics, troubles, clock: systemClock, memory: { refusal: () => undefined } });
}

const over = (name: string, fixture: StoreFixture, wrap: (backend: Backend) => Backend): StoreFixture => ({
  ...fixture,
  name: `${name} over ${fixture.name}`,
  prepare: async () => {
    const store = await fixture.prepare();
    return { ...store, backend: (options) => wrap(store.backend(options)) };
  },
});

/** A store with a second log, which orders a type that the tests do not use. */
const routed = (fixture: StoreFixture): StoreFixture => ({
  ...fixture,
  name: `routed over ${fixture.name}`,
  prepare: async () => {
    const [main, other] = [await fixture.prepare(), await fixture.prepare()];
    return {
      backend: (options) =>
        routedBackend({
          main: main.backend(options),
          others: new Map([['other', other.backend(options)]]),
          overrides: new Map([['elsewhere.example.com', 'other']]),
        }),
      dispose: async () => {
        await main.dispose();
        await other.dispose();
      },
    };
  },
});

const encrypted = (fixture: StoreFixture): StoreFixture => ({
  ...over('encrypted', fixture, encrypt),
  reorders: true,
});

const measured = (fixture: StoreFixture): StoreFixture => over('measured', fixture, measure);

/** Each layer over the store. */
export const layersOver = (fixture: StoreFixture): StoreFixture[] => [
  encrypted(fixture),
  measured(fixture),
  routed(fixture),
];

/** All layers, in the order in which the server composes them. */
export const stacked = (fixture: StoreFixture): StoreFixture => routed(measured(encrypted(fixture)));
