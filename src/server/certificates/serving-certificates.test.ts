import { X509Certificate } from 'node:crypto';
import type { StoredObject } from '../../storage/interfaces.js';
import { layered } from '../../storage/layered.js';
import { MemoryBackend, MemoryData } from '../../../test/fakes/storage/memory-backend.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { SERVING_AUTHORITIES, SharedAuthority } from './serving-certificates.js';

const DAY = 86_400_000;
const [everywhere, nowhere] = [(): boolean => true, (): boolean => false];
const NAMES = ['annex.system.svc', 'annex.system'];

/** A store with the object that holds the CA. */
class SharedStore {
  private readonly data = new MemoryData();
  readonly memory = new MemoryBackend({ data: this.data });
  /** Runs once before the next write. */
  meanwhile: (() => void) | undefined;
  readonly backend = layered(this.memory, {
    write: (request) => {
      this.meanwhile?.();
      this.meanwhile = undefined;
      return this.memory.write(request);
    },
  });

  get stored(): StoredObject {
    const [object] = [...this.data.types.values()].flatMap((objects) => [...objects.values()]);
    if (object === undefined) throw new Error('there is no CA');
    return object;
  }

  /** Replaces the object as if it was stored in another way. */
  put(object: StoredObject): void {
    this.data.objectsOf(SERVING_AUTHORITIES.resource).set(object.key, object);
  }
}

async function open(store: SharedStore, clock: FakeClock): Promise<SharedAuthority> {
  await store.memory.open();
  return SharedAuthority.open(store.backend, clock, NAMES);
}

const authoritiesOf = (bundle: string): X509Certificate[] =>
  bundle
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .filter((pem) => pem.trim() !== '')
    .map((pem) => new X509Certificate(pem));

const verifies = (shared: SharedAuthority, bundle: string): boolean => {
  const leaf = new X509Certificate(shared.pair.cert);
  return authoritiesOf(bundle).some((ca) => leaf.checkIssued(ca) && leaf.verify(ca.publicKey));
};

describe('the serving CA that replicas share', () => {
  it('is created once, and each replica signs its own certificate for the Service names with it', async () => {
    const store = new SharedStore();
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const first = await open(store, clock);
    const second = await open(store, clock);
    expect(second.caBundle).toBe(first.caBundle);
    expect(second.pair.cert).not.toBe(first.pair.cert);
    expect(verifies(second, first.caBundle)).toBe(true);
    expect(new X509Certificate(second.pair.cert).checkHost('annex.system.svc')).toBe('annex.system.svc');
    expect(await second.refresh(everywhere)).toBe(false);
  });

  it('is written again if another key encrypts it, and kept if no key can decrypt it', async () => {
    const store = new SharedStore();
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const { caBundle } = await open(store, clock);
    const { stored } = store;
    store.put({ ...stored, stale: true });
    expect((await open(store, clock)).caBundle).toBe(caBundle);
    expect([store.stored.revision, store.stored.stale]).toEqual([stored.revision + 1, undefined]);
    store.put({ ...stored, bytes: new Uint8Array(), unreadable: 'no matching key' });
    await expect(open(store, clock)).rejects.toThrow('cannot be decrypted (no matching key)');
    expect(store.stored.revision).toBe(stored.revision);
  });

  it('takes the CA of the replica that wrote it first', async () => {
    const [winner, store] = [new SharedStore(), new SharedStore()];
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const first = await open(winner, clock);
    store.meanwhile = () => {
      store.put(winner.stored);
    };
    const second = await open(store, clock);
    expect(second.caBundle).toBe(first.caBundle);
  });

  it('renews the certificate a month before it expires, under the same CA', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const shared = await open(new SharedStore(), clock);
    const { pair, caBundle } = shared;
    clock.advance(330 * DAY);
    expect(await shared.refresh(everywhere)).toBe(false);
    clock.advance(10 * DAY);
    expect(await shared.refresh(everywhere)).toBe(true);
    expect(shared.pair.cert).not.toBe(pair.cert);
    expect(shared.caBundle).toBe(caBundle);
  });

  it('rotates the CA: publishes it, signs with it an hour later, and keeps the old one until it expires', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const shared = await open(new SharedStore(), clock);
    const old = shared.caBundle;
    clock.advance(3625 * DAY);
    expect(await shared.refresh(everywhere)).toBe(true);
    expect(authoritiesOf(shared.caBundle)).toHaveLength(2);
    expect(verifies(shared, old)).toBe(true);
    clock.advance(2 * 3_600_000);
    expect(await shared.refresh(everywhere)).toBe(true);
    expect(verifies(shared, old)).toBe(false);
    expect(verifies(shared, shared.caBundle)).toBe(true);
    clock.advance(30 * DAY);
    await shared.refresh(everywhere);
    expect(authoritiesOf(shared.caBundle)).toHaveLength(1);
  });

  it('signs only with a CA that the cluster knows, even after a restart', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const store = new SharedStore();
    const old = (await open(store, clock)).caBundle;
    clock.advance(3625 * DAY);
    // Creates the new CA, and stops before it is published to the cluster.
    await open(store, clock);
    clock.advance(DAY);
    const shared = await open(store, clock);
    expect(authoritiesOf(shared.caBundle)).toHaveLength(2);
    expect(verifies(shared, old)).toBe(true);
    expect(await shared.refresh(nowhere)).toBe(false);
    const fresh = authoritiesOf(shared.caBundle)[0];
    expect(await shared.refresh((authority) => authority.raw.equals(fresh?.raw ?? Buffer.alloc(0)))).toBe(true);
    expect(verifies(shared, old)).toBe(false);
    // The signing CA stays in use while the cluster is unavailable.
    expect(await shared.refresh(nowhere)).toBe(false);
  });

  it('does not wait for the cluster shortly before the old CA expires', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const shared = await open(new SharedStore(), clock);
    const old = shared.caBundle;
    clock.advance(3625 * DAY);
    await shared.refresh(nowhere);
    clock.advance(23.5 * DAY);
    expect(await shared.refresh(nowhere)).toBe(false);
    expect(verifies(shared, old)).toBe(true);
    clock.advance(DAY);
    expect(await shared.refresh(nowhere)).toBe(true);
    expect(verifies(shared, old)).toBe(false);
  });
});
