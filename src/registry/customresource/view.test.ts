import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { CompiledSchema } from '../../schema/interfaces.js';
import { SLICE_MILLIS } from '../../storage/slicing.js';
import { FakeClock } from '../../util/clock.js';
import { CustomView, type CustomViewOptions } from './view.js';

/** A schema that finds nothing to change. */
const SCHEMA: Pick<CompiledSchema, 'prune' | 'coerceStored' | 'applyDefaults' | 'coerce'> = {
  prune: () => [],
  coerceStored: () => undefined,
  applyDefaults: () => undefined,
  coerce: () => [],
};

const viewOf = (): CustomView =>
  new CustomView({
    id: 'test',
    groupVersion: 'a.b/v1',
    formOf: () => ({ schema: SCHEMA as CompiledSchema, preserveUnknownFields: false }),
    conversion: { remote: false } as CustomViewOptions['conversion'],
    isStorage: true,
  });

/** Objects that take so much time each time they are read. */
function* objects(count: number, clock: FakeClock, millis: number, apiVersion = 'a.b/v1'): Generator<CachedObject> {
  for (let i = 0; i < count; i++) {
    yield {
      decode: () => {
        clock.advance(millis);
        return { apiVersion, kind: 'Widget', metadata: { name: `w${String(i)}` } };
      },
    } as unknown as CachedObject;
  }
}

test('objects are looked at for no longer than a slice before others have their turn', async () => {
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
  expect(view.json.identity).toBe(true);
  // Each is read twice, with a turn between.
  expect(Math.max(...turns)).toBe(SLICE_MILLIS);
});

test('small objects take one turn', async () => {
  const clock = new FakeClock();
  const view = viewOf();
  let turned = false;
  setImmediate(() => (turned = true));
  await view.verify(objects(1000, clock, 0), new AbortController().signal, clock);
  expect([view.json.identity, turned]).toEqual([true, false]);
});

test('an object of another version, or an end, leaves the stored bytes unshown', async () => {
  const clock = new FakeClock();
  const other = viewOf();
  await other.verify(objects(1, clock, 0, 'a.b/v2'), new AbortController().signal, clock);
  const ended = viewOf();
  await ended.verify(objects(1, clock, 0), AbortSignal.abort(), clock);
  expect([other.json.identity, ended.json.identity]).toEqual([false, false]);
});
