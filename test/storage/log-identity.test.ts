import { LogIdentities } from '../../src/storage/log-identity.js';
import type { Backend } from '../../src/storage/interfaces.js';
import type { LogSet } from '../../src/storage/routed-backend.js';
import { embedded, type PreparedStore } from './fixtures.js';

const stores: PreparedStore[] = [];

afterAll(async () => {
  for (const store of stores) await store.dispose();
});

async function prepare(): Promise<PreparedStore> {
  const store = await embedded.prepare();
  stores.push(store);
  return store;
}

const alone = (main: Backend): LogSet => ({ main, others: new Map(), overrides: new Map() });

async function identityOf(backend: Backend): Promise<string | undefined> {
  const identities = new LogIdentities();
  await identities.open(alone(backend));
  return identities.of(backend);
}

describe('the identity of a log', () => {
  test('differs between stores and survives restarts', async () => {
    const [one, two] = [await prepare(), await prepare()];
    const [first, second] = [one.backend(), two.backend()];
    await first.open();
    await second.open();
    const identity = await identityOf(first);
    expect(identity).toMatch(/^[0-9a-f-]{36}$/);
    expect(await identityOf(second)).not.toBe(identity);
    await first.close();
    await second.close();
    const again = one.backend();
    await again.open();
    expect(await identityOf(again)).toBe(identity);
    await again.close();
  });

  test('is the same for replicas that create it concurrently, and exists in each log', async () => {
    const [store, other] = [await prepare(), await prepare()];
    const [main, second] = [store.backend(), other.backend()];
    await main.open();
    await second.open();
    const identities = await Promise.all([identityOf(main), identityOf(main), identityOf(main)]);
    expect(new Set(identities).size).toBe(1);
    const both = new LogIdentities();
    await both.open({ main, others: new Map([['busy', second]]), overrides: new Map() });
    expect(both.of(main)).toBe(identities[0]);
    expect(both.of(second)).toMatch(/^[0-9a-f-]{36}$/);
    expect(both.of(second)).not.toBe(identities[0]);
    await main.close();
    await second.close();
  });
});
