import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { StorageError } from '../../storage/errors.js';
import type { DeleteOptions, DeleteResult } from '../rest/storage.js';
import { deleteObject, type DeleteInput } from './delete.js';
import { CONTEXT, LaggingCache, servedWith } from '../../../test/fakes/registry/lagging-cache.js';

const OPTIONS: DeleteOptions = {
  gracePeriodSeconds: undefined,
  orphanDependents: undefined,
  propagationPolicy: undefined,
  preconditions: {},
  dryRun: false,
  ignoreStoreReadError: false,
};

function remove(
  world: LaggingCache,
  options: Partial<DeleteOptions> = {},
  more: Partial<DeleteInput> = {},
): Promise<DeleteResult> {
  return deleteObject(world.store, {
    context: CONTEXT,
    served: servedWith(),
    namespace: 'ns',
    name: 'a',
    options: { ...OPTIONS, ...options },
    validate: () => undefined,
    ...more,
  });
}

const GONE = { code: 404, message: 'widgets.example.com "a" not found' };

describe('a deletion starts from the cached state', () => {
  test('and does not read the store if that is the newest state', async () => {
    const world = new LaggingCache();
    const { revision } = world.put({ uid: 'u' });
    const { object, removed } = await remove(world, { preconditions: { uid: 'u', resourceVersion: String(revision) } });
    expect([removed, object.metadata.resourceVersion]).toEqual([true, String(revision + 1)]);
    expect([world.newest, world.reads]).toEqual([undefined, 0]);
    expect(world.writes.map(({ expected, previous }) => [expected, previous?.revision])).toEqual([
      [revision, revision],
    ]);
  });

  test('reads an object that is not cached from the store', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.lag = 1;
    expect(await remove(world)).toMatchObject({ removed: true });
    expect(world.reads).toBe(1);
    await expect(remove(world)).rejects.toMatchObject(GONE);
  });

  test('detects a stale state by the write', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.put({ uid: 'u', labels: { new: 'yes' } });
    world.lag = 1;
    expect(await remove(world)).toMatchObject({ removed: true, object: { metadata: { labels: { new: 'yes' } } } });
    expect([world.newest, world.reads, world.writes.length]).toEqual([undefined, 0, 2]);
  });

  test('does not find a cached object that is already removed', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.remove();
    world.lag = 1;
    await expect(remove(world)).rejects.toMatchObject(GONE);
    expect(world.log).toHaveLength(2);
  });

  test('respects finalizers added meanwhile', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.put({ uid: 'u', finalizers: ['example.com/f'] });
    world.lag = 1;
    expect(await remove(world)).toMatchObject({ removed: false });
    expect(world.store.cache.peek(world.key)?.decode()).toMatchObject({ metadata: { finalizers: ['example.com/f'] } });
    expect(Buffer.from(world.newest?.bytes ?? []).toString()).toContain('"deletionTimestamp"');
  });
});

describe('a response without a write uses only the newest state', () => {
  const refuse = (message: string) => (object: KubeObject) => {
    if (object.metadata.labels?.['keep'] === 'yes') throw new Error(message);
  };

  test.each<[string, Partial<DeleteOptions>]>([
    ['a uid', { preconditions: { uid: 'new' } }],
    ['a resourceVersion', { preconditions: { resourceVersion: '4' } }],
  ])('%s that the newest state matches', async (_name, options) => {
    const world = new LaggingCache();
    world.put({ uid: 'old' });
    world.remove();
    world.put({ uid: 'new' });
    world.lag = 2;
    expect(await remove(world, options)).toMatchObject({ removed: true });
    expect(world.newest).toBeUndefined();
  });

  test.each<[string, Partial<DeleteOptions>, string]>([
    [
      'a uid',
      { preconditions: { uid: 'old' } },
      'the UID in the precondition (old) does not match the UID in record (new). The object might have been deleted and then recreated',
    ],
    [
      'a resourceVersion',
      { preconditions: { resourceVersion: '2' } },
      'the ResourceVersion in the precondition (2) does not match the ResourceVersion in record (4). The object might have been modified',
    ],
  ])('%s that only the older state matches', async (_name, options, message) => {
    const world = new LaggingCache();
    world.put({ uid: 'old' });
    world.remove();
    world.put({ uid: 'new' });
    world.lag = 2;
    const text = `Operation cannot be fulfilled on Widget.example.com "a": ${message}`;
    await expect(remove(world, options)).rejects.toMatchObject({ code: 409, message: text });
    expect(world.newest?.revision).toBe(4);
  });

  test('admission that refuses the older state', async () => {
    const world = new LaggingCache();
    world.put({ labels: { keep: 'yes' } });
    world.put({ labels: {} });
    world.lag = 1;
    expect(await remove(world, {}, { validate: refuse('kept') })).toMatchObject({ removed: true });
  });

  test('admission that refuses the newest state', async () => {
    const world = new LaggingCache();
    world.put({ labels: { keep: 'yes' } });
    await expect(remove(world, {}, { validate: refuse('kept') })).rejects.toThrow('kept');
    expect([world.reads, world.writes.length]).toEqual([1, 0]);
  });

  test('admission that refuses a state from a conflict that is stale by then', async () => {
    const world = new LaggingCache();
    world.put({ labels: {} });
    world.put({ labels: { keep: 'yes' } });
    world.put({ labels: {} });
    world.lag = 2;
    world.conflictAt = () => 0;
    expect(await remove(world, {}, { validate: refuse('kept') })).toMatchObject({ removed: true });
  });

  test('a dry run', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.remove();
    world.lag = 1;
    await expect(remove(world, { dryRun: true })).rejects.toMatchObject(GONE);
    world.put({ uid: 'u', labels: { new: 'yes' } });
    const { object } = await remove(world, { dryRun: true });
    expect(object.metadata.labels).toEqual({ new: 'yes' });
    expect([world.newest?.revision, world.writes]).toEqual([4, []]);
  });

  test('a running grace period', async () => {
    const world = new LaggingCache();
    const deleting = { deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds: 30 };
    world.put(deleting);
    world.put({ ...deleting, labels: { new: 'yes' } });
    world.lag = 1;
    const graceful = servedWith({ gracePeriodSeconds: (_object, asked) => asked ?? 30 });
    const { object, removed, stored } = await remove(world, {}, { served: graceful });
    expect([object.metadata.labels, removed, stored?.revision]).toEqual([{ new: 'yes' }, false, 3]);
    world.remove();
    await expect(remove(world, {}, { served: graceful })).rejects.toMatchObject(GONE);
  });

  test('an object that is already marked', async () => {
    const world = new LaggingCache();
    const metadata = { finalizers: ['example.com/f'] };
    world.put(metadata);
    const { stored } = await remove(world);
    expect(await remove(world)).toMatchObject({ removed: false, stored: { revision: stored?.revision } });
    expect(world.log).toHaveLength(2);
    // Removing the last finalizer removes the object.
    world.remove();
    world.lag = 1;
    await expect(remove(world)).rejects.toMatchObject(GONE);
  });
});

describe('objects that cannot be decoded', () => {
  test('fail with a storage error', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.putBytes('{"no');
    for (const late of [0, 1]) {
      world.lag = late;
      await expect(remove(world)).rejects.toThrow(StorageError);
    }
    expect(world.newest?.revision).toBe(3);
  });

  test('are deleted once they can be decoded', async () => {
    const world = new LaggingCache();
    world.putBytes('{"no');
    world.put({ uid: 'u' });
    world.lag = 1;
    expect(await remove(world)).toMatchObject({ removed: true });
  });
});

describe('an object that is marked first and removed at once', () => {
  const graceful = servedWith({ gracePeriodSeconds: () => 0 });
  const kept = (world: LaggingCache): boolean[] => world.log.map(({ state }) => state !== undefined);

  test('is removed after its mark', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    expect(await remove(world, {}, { served: graceful })).toMatchObject({ removed: true });
    expect([kept(world), world.reads]).toEqual([[true, true, false], 0]);
  });

  test('is gone if another client removes it in between', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.beforeWrite = (nth) => {
      if (nth === 2) world.remove();
    };
    expect(await remove(world, {}, { served: graceful })).toMatchObject({ removed: true });
    expect(kept(world)).toEqual([true, true, false]);
  });

  test('stays if another client adds a finalizer in between', async () => {
    const world = new LaggingCache();
    world.put({ uid: 'u' });
    world.beforeWrite = (nth) => {
      if (nth === 2) world.put({ uid: 'u', deletionGracePeriodSeconds: 0, finalizers: ['example.com/f'] });
    };
    expect(await remove(world, {}, { served: graceful })).toMatchObject({ removed: false });
    expect(world.newest).toBeDefined();
  });
});
