import fc from 'fast-check';
import type { ApiError } from '../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Strategy } from '../rest/interfaces.js';
import { decodeStored } from '../../storage/detached-object.js';
import { deleteObject } from './delete.js';
import { CONTEXT, LaggingCache, servedWith, strategy } from '../../../test/fakes/registry/lagging-cache.js';
import type { UpdateResult } from '../rest/storage.js';
import { updateObject, type UpdateInput } from './update.js';

function update(
  world: LaggingCache,
  transform: (object: KubeObject) => KubeObject,
  more: Partial<UpdateInput> = {},
): Promise<UpdateResult> {
  return updateObject(world.store, {
    context: CONTEXT,
    served: servedWith(),
    strategy: strategy as Strategy,
    namespace: 'ns',
    name: 'a',
    dryRun: false,
    forceAllowCreate: false,
    expectedUid: undefined,
    transform: (current) => transform(structuredClone(current as KubeObject)),
    validateCreate: () => undefined,
    validateUpdate: () => undefined,
    ...more,
  });
}

const SYSTEM = { uid: 'u', creationTimestamp: '2026-01-02T03:04:05Z' };
const DELETING = { ...SYSTEM, deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds: 0 };
const count = (object: KubeObject): number => Number(object.metadata.labels?.['n'] ?? 0);

function labelled(object: KubeObject, labels: Record<string, string>): KubeObject {
  return { ...object, metadata: { ...object.metadata, labels } };
}

const increment = (object: KubeObject): KubeObject => labelled(object, { n: String(count(object) + 1) });

describe('an update starts from the cached state', () => {
  test('and does not read the store if that is the newest state', async () => {
    const world = new LaggingCache();
    world.put(SYSTEM);
    expect(await update(world, increment)).toMatchObject({ stored: { revision: 3 } });
    expect(world.reads).toBe(0);
  });

  test('detects a stale state by the write', async () => {
    const world = new LaggingCache();
    world.put(SYSTEM);
    world.put({ ...SYSTEM, labels: { n: '7' } });
    world.lag = 1;
    const { object } = await update(world, increment);
    expect([count(object), world.reads, world.writes.length]).toEqual([8, 0, 2]);
  });

  test('returns an unchanged object only from the newest state', async () => {
    const world = new LaggingCache();
    world.put({ ...SYSTEM, labels: { n: '1' } });
    world.put({ ...SYSTEM, labels: { n: '2' } });
    world.lag = 1;
    const { stored } = await update(world, (object) => labelled(object, { n: '1' }));
    expect([stored?.revision, world.reads]).toEqual([4, 1]);
  });

  test('retries after a refusal of a state from a conflict that is stale by then', async () => {
    const world = new LaggingCache();
    for (const n of ['0', '1', '2']) world.put({ ...SYSTEM, labels: { n } });
    world.lag = 2;
    world.conflictAt = () => 0;
    const refuseOne = (object: KubeObject): KubeObject => {
      if (count(object) === 1) throw new Error('refused');
      return increment(object);
    };
    expect(count((await update(world, refuseOne)).object)).toBe(3);
  });
});

describe('an update that removes the last finalizer removes the object', () => {
  const release = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, finalizers: object.metadata.finalizers?.filter((name) => name !== 'mine') ?? [] },
  });

  test('without reading the store first', async () => {
    const world = new LaggingCache();
    world.put({ ...DELETING, finalizers: ['mine'] });
    expect(await update(world, release)).toMatchObject({ stored: undefined });
    expect([world.newest, world.reads, world.writes.length]).toEqual([undefined, 0, 1]);
  });

  test('unless another finalizer was added meanwhile', async () => {
    const world = new LaggingCache();
    world.put({ ...DELETING, finalizers: ['mine'] });
    world.put({ ...DELETING, finalizers: ['mine', 'theirs'] });
    world.lag = 1;
    const { stored } = await update(world, release);
    expect(stored === undefined ? undefined : decodeStored(stored)).toMatchObject({
      metadata: { finalizers: ['theirs'] },
    });
    expect(world.writes).toHaveLength(2);
  });

  test('even if another client removes it first', async () => {
    const world = new LaggingCache();
    world.put({ ...DELETING, finalizers: ['mine'] });
    world.beforeWrite = () => {
      world.remove();
    };
    expect(await update(world, release)).toMatchObject({ stored: undefined });
    expect(world.log).toHaveLength(2);
  });

  test('but not in a dry run', async () => {
    const world = new LaggingCache();
    world.put({ ...DELETING, finalizers: ['mine', 'theirs'] });
    world.put({ ...DELETING, finalizers: ['mine'] });
    world.lag = 1;
    const { object } = await update(world, release, { dryRun: true });
    expect([object.metadata.finalizers, world.reads, world.writes]).toEqual([[], 1, []]);
  });
});

/** An operation of one client, with the number of changes the cache lags and the microtasks to wait. */
interface Deed {
  readonly what: 'increment' | 'delete' | 'delete this one' | 'delete this state' | 'create';
  readonly late: number;
  readonly wait: number;
}

const deed: fc.Arbitrary<Deed> = fc.record({
  what: fc.constantFrom<Deed['what']>(
    'increment',
    'increment',
    'delete',
    'delete this one',
    'delete this state',
    'create',
  ),
  late: fc.nat(3),
  wait: fc.nat(5),
});

/** The response to an operation, and the range of changes during which it ran. */
interface Told {
  readonly deed: Deed;
  readonly uid: string;
  readonly revision: number;
  readonly from: number;
  readonly to: number;
  readonly code: number;
}

async function play(
  clients: readonly (readonly Deed[])[],
  conflictAt: number,
): Promise<{ world: LaggingCache; reported: Told[] }> {
  const world = new LaggingCache();
  world.conflictAt = () => conflictAt;
  const reported: Told[] = [];
  let made = 0;
  const create = (): void => {
    if (world.newest === undefined) world.put({ ...SYSTEM, uid: `u${++made}`, labels: { n: '0' } });
  };
  create();
  const turns = async (n: number): Promise<void> => {
    for (let i = 0; i < n; i++) await Promise.resolve();
  };
  const remove = async (preconditions: object): Promise<unknown> =>
    deleteObject(world.store, {
      context: CONTEXT,
      served: servedWith(),
      namespace: 'ns',
      name: 'a',
      options: {
        gracePeriodSeconds: undefined,
        orphanDependents: undefined,
        propagationPolicy: undefined,
        preconditions,
        dryRun: false,
        ignoreStoreReadError: false,
      },
      validate: () => turns(1),
    });
  const act = async ({ what }: Deed, uid: string, revision: number): Promise<unknown> => {
    if (what === 'increment') return update(world, increment);
    if (what === 'delete') return remove({});
    return remove(what === 'delete this one' ? { uid } : { resourceVersion: String(revision) });
  };
  const client = async (deeds: readonly Deed[]): Promise<void> => {
    for (const one of deeds) {
      await turns(one.wait);
      world.lag = one.late;
      world.meanwhile = () => turns(one.wait);
      const { newest } = world;
      if (one.what === 'create') create();
      if (one.what === 'create' || newest === undefined) continue;
      const uid = (decodeStored(newest) as KubeObject).metadata.uid ?? '';
      const { revision } = newest;
      const from = world.log.length - 1;
      const code = await act(one, uid, revision).then(
        () => 200,
        (error: unknown) => (error as ApiError).code,
      );
      reported.push({ deed: one, uid, revision, from, to: world.log.length - 1, code });
    }
  };
  await Promise.all(clients.map(client));
  return { world, reported };
}

const objectOf = (entry: LaggingCache['log'][number]): JsonObject | undefined =>
  entry.state === undefined ? undefined : decodeStored(entry.state);

test('with a stale cache no update is lost, no other object is removed, and no response is stale', async () => {
  const games = fc.array(fc.array(deed, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(games, fc.double({ min: 0, max: 0.99, noNaN: true }), async (clients, conflictAt) => {
      const { world, reported } = await play(clients, conflictAt);
      const states = world.log.map((entry) => objectOf(entry) as KubeObject | undefined);
      let increments = 0;
      let removals = 0;
      states.forEach((state, i) => {
        const before = states[i - 1];
        if (state === undefined) removals++;
        else if (before !== undefined) {
          increments++;
          expect([state.metadata.uid, count(state)]).toEqual([before.metadata.uid, count(before) + 1]);
        } else expect(count(state)).toBe(0);
      });
      const done = (update: boolean): number =>
        reported.filter(({ deed: { what }, code }) => code === 200 && (what === 'increment') === update).length;
      expect([increments, removals]).toEqual([done(true), done(false)]);
      for (const {
        deed: { what },
        uid,
        revision,
        from,
        to,
        code,
      } of reported) {
        const meanwhile = world.log.slice(from, to + 1);
        // The response was true at some time between the request and the response.
        if (code === 404) expect(meanwhile.some(({ state }) => state === undefined)).toBe(true);
        else if (code === 409 && what === 'delete this state')
          expect(meanwhile.some(({ state }) => state !== undefined && state.revision !== revision)).toBe(true);
        else if (code === 409 && what === 'delete this one')
          expect(meanwhile.some((entry) => (objectOf(entry) as KubeObject | undefined)?.metadata.uid !== uid)).toBe(
            true,
          );
        else expect(code).toBe(200);
        if (code === 200 && what === 'delete this one')
          expect(states.some((state, i) => state === undefined && states[i - 1]?.metadata.uid === uid)).toBe(true);
        if (code === 200 && what === 'delete this state')
          expect(states.some((state, i) => state === undefined && world.log[i - 1]?.revision === revision)).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
