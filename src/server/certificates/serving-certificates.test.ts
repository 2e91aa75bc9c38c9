import { X509Certificate } from 'node:crypto';
import type { Backend, StoredObject, WriteRequest, WriteResult } from '../../storage/interfaces.js';
import { encodeRecord, readRecord } from '../../storage/record.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { SharedAuthority } from './serving-certificates.js';

const DAY = 86_400_000;
const [everywhere, nowhere] = [(): boolean => true, (): boolean => false];
const NAMES = ['annex.system.svc', 'annex.system'];

/** A store of one object, with compare-and-write. */
class OneObject implements Pick<Backend, 'get' | 'write'> {
  stored: StoredObject | undefined;
  /** Runs once before the next write. */
  meanwhile: (() => void) | undefined;

  get(): Promise<StoredObject | undefined> {
    return Promise.resolve(this.stored);
  }

  write(request: WriteRequest): Promise<WriteResult> {
    this.meanwhile?.();
    this.meanwhile = undefined;
    if ((this.stored?.revision ?? 0) !== request.expected || request.value === undefined) {
      return Promise.resolve({ outcome: 'conflict', current: this.stored });
    }
    const revision = request.expected + 1;
    this.stored = { key: request.key, revision, ...readRecord(encodeRecord(request.value, revision)) };
    return Promise.resolve({ outcome: 'committed', object: this.stored });
  }
}

const open = (store: OneObject, clock: FakeClock): Promise<SharedAuthority> =>
  SharedAuthority.open(store as Partial<Backend> as Backend, clock, NAMES);

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
    const store = new OneObject();
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
    const store = new OneObject();
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const { caBundle } = await open(store, clock);
    const stored = store.stored as StoredObject;
    store.stored = { ...stored, stale: true };
    expect((await open(store, clock)).caBundle).toBe(caBundle);
    expect([store.stored.revision, store.stored.stale]).toEqual([stored.revision + 1, undefined]);
    store.stored = { ...stored, bytes: new Uint8Array(), unreadable: 'no matching key' };
    await expect(open(store, clock)).rejects.toThrow('cannot be decrypted (no matching key)');
    expect(store.stored.revision).toBe(stored.revision);
  });

  it('takes the CA of the replica that wrote it first', async () => {
    const [winner, store] = [new OneObject(), new OneObject()];
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const first = await open(winner, clock);
    store.meanwhile = () => {
      store.stored = winner.stored;
    };
    const second = await open(store, clock);
    expect(second.caBundle).toBe(first.caBundle);
  });

  it('renews the certificate a month before it expires, under the same CA', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const shared = await open(new OneObject(), clock);
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
    const shared = await open(new OneObject(), clock);
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
    const store = new OneObject();
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
    const shared = await open(new OneObject(), clock);
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
