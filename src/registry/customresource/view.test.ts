import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { CompiledSchema } from '../../schema/compile.js';
import { SLICE_MILLIS } from '../../scheduling/thresholds.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { CustomView, type CustomViewOptions } from './view.js';

/** A schema that changes nothing. */
const SCHEMA: Pick<CompiledSchema, 'prune' | 'coerceStored' | 'applyDefaults' | 'coerce'> = {
  prune: () => [],
  coerceStored: () => undefined,
  applyDefaults: () => undefined,
  coerce: () => [],
};

const viewOf = (offload?: CustomViewOptions['offload']): CustomView =>
  new CustomView({
    id: 'test',
    groupVersion: 'a.b/v1',
    formOf: () => ({ schema: SCHEMA as CompiledSchema, preserveUnknownFields: false }),
    conversion: { remote: false } as CustomViewOptions['conversion'],
    isStorage: true,
    offload,
  });

/** Yields objects that each take the given milliseconds to decode. */
function* objects(count: number, clock: FakeClock, millis: number, apiVersion = 'a.b/v1'): Generator<CachedObject> {
  for (let i = 0; i < count; i++) {
    yield {
      revision: i + 1,
      bytes: Buffer.alloc(100),
      decode: () => {
        clock.advance(millis);
        return { apiVersion, kind: 'Widget', metadata: { name: `w${String(i)}` } };
      },
    } as unknown as CachedObject;
  }
}

test('verifies objects for at most one slice before it yields', async () => {
  const clock = new FakeClock();
  const turns: number[] = [];
  let last = clock.monotonic();
  let running = true;
  const others = (): void => {
    turns.push(clock.monotonic() - last);
    last = clock.monotonic();
    if (running) setImmediate(others);
  };
  setImmediate(others);
  const view = viewOf();
  await view.verify(objects(20, clock, SLICE_MILLIS), new AbortController().signal, clock);
  running = false;
  expect(view.json.identityUpTo).toBe(Infinity);
  // Each object is read twice, with a turn in between.
  expect(Math.max(...turns)).toBe(SLICE_MILLIS);
});

test('verifies small objects in one turn', async () => {
  const clock = new FakeClock();
  const view = viewOf();
  let turned = false;
  setImmediate(() => (turned = true));
  await view.verify(objects(1000, clock, 0), new AbortController().signal, clock);
  expect([view.json.identityUpTo, turned]).toEqual([Infinity, false]);
});

test('an object of another version, or an abort, prevents serving the stored bytes', async () => {
  const clock = new FakeClock();
  const other = viewOf();
  await other.verify(objects(1, clock, 0, 'a.b/v2'), new AbortController().signal, clock);
  const ended = viewOf();
  await ended.verify(objects(1, clock, 0), AbortSignal.abort(), clock);
  expect([other.json.identityUpTo, ended.json.identityUpTo]).toEqual([-1, -1]);
});

test('an incomplete object is not verified until it is rendered', async () => {
  const clock = new FakeClock();
  const view = viewOf();
  const [other] = objects(1, clock, 0, 'a.b/v2');
  const incomplete = { ...other, incomplete: true } as CachedObject;
  await view.verify([incomplete, ...objects(1, clock, 0)], new AbortController().signal, clock);
  expect(view.json.identityUpTo).toBe(Infinity);
});

describe('large objects are verified by another thread', () => {
  const large = (): CachedObject => ({ revision: 1, bytes: Buffer.alloc(100_000, 'x') }) as unknown as CachedObject;
  const shownAs = (bytes: () => Promise<Uint8Array>): CustomViewOptions['offload'] => {
    return async () => ({ bytes: await bytes(), attributes: { labels: {}, fields: {} } });
  };
  const verified = async (offload: CustomViewOptions['offload']): Promise<boolean> => {
    const view = viewOf(offload);
    await view.verify([large(), large()], new AbortController().signal, new FakeClock());
    return view.json.identityUpTo === Infinity;
  };

  test('which renders them as stored', async () => {
    expect(await verified(shownAs(() => Promise.resolve(large().bytes)))).toBe(true);
  });

  test('which renders them differently or fails', async () => {
    expect(await verified(shownAs(() => Promise.resolve(Buffer.alloc(100_000, 'y'))))).toBe(false);
    expect(await verified(shownAs(() => Promise.reject(new Error('busy'))))).toBe(false);
  });

  test('unless no other thread is available', async () => {
    const [object] = objects(1, new FakeClock(), 0);
    const view = viewOf(() => undefined);
    const bytes = Buffer.alloc(100_000);
    await view.verify([{ ...object, bytes } as CachedObject], new AbortController().signal, new FakeClock());
    expect(view.json.identityUpTo).toBe(Infinity);
  });
});
