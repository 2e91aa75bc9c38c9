import type { JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { ClusterError } from './cluster-error.js';
import { type ClusterListener, type Collection, follow } from './follow.js';

const object = (name: string, version: number): KubeObject => ({
  metadata: { name, resourceVersion: String(version) },
});
const event = (type: string, about: JsonObject): JsonObject => ({ type, object: about });
/** A watch whose lines, errors and end come from the test. */
class Watch {
  private readonly waiting: (JsonObject | Error | undefined)[] = [];
  private wake: () => void = () => undefined;

  send(...events: (JsonObject | Error | undefined)[]): void {
    this.waiting.push(...events);
    this.wake();
  }

  async *lines(): AsyncGenerator<Buffer> {
    for (;;) {
      while (this.waiting.length > 0) {
        const next = this.waiting.shift();
        if (next === undefined) return;
        if (next instanceof Error) throw next;
        yield Buffer.from(JSON.stringify(next));
      }
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

/** Returns a watch that delivers these events, and ends. */
function said(...events: (JsonObject | Error)[]): Watch {
  const watch = new Watch();
  watch.send(...events, undefined);
  return watch;
}

class World implements Collection {
  readonly asked: string[] = [];
  readonly reported: string[] = [];
  readonly clock = new FakeClock();
  readonly stop = new AbortController();

  constructor(
    readonly pages: (JsonObject | Error)[],
    readonly watches: (Watch | Error)[],
  ) {
    const listener: ClusterListener = {
      upsert: ({ metadata }) => void this.reported.push(`+${metadata.name}`),
      delete: ({ metadata }) => void this.reported.push(`-${metadata.name}`),
      replaced: (all) => void this.reported.push(`=${all.map(({ metadata }) => metadata.name).join()}`),
      responded: () => void this.reported.push('.'),
    };
    void follow('/things?fieldSelector=a', this, listener, {
      clock: this.clock,
      signal: this.stop.signal,
      random: () => 0,
      failed: (error) => void this.reported.push((error as Error).message),
    });
  }

  get(path: string): Promise<JsonObject> {
    this.asked.push(path.replace('/things?fieldSelector=a&', ''));
    const page = this.pages.shift() ?? new ClusterError(0, 'no page');
    return page instanceof Error ? Promise.reject(page) : Promise.resolve(page);
  }

  watch(path: string): Promise<AsyncIterable<Buffer>> {
    const { searchParams } = new URL(path, 'https://c');
    expect(searchParams.get('allowWatchBookmarks')).toBe('true');
    this.asked.push(`watch ${searchParams.get('resourceVersion')}`);
    const watch = this.watches.shift() ?? new ClusterError(0, 'no watch');
    return watch instanceof Error ? Promise.reject(watch) : Promise.resolve(watch.lines());
  }

  parse(line: Buffer): JsonObject {
    return JSON.parse(line.toString()) as JsonObject;
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 60; i++) await Promise.resolve();
  }

  /** Returns the notifications since the last call. */
  async news(): Promise<string[]> {
    await this.settle();
    return this.reported.splice(0);
  }
}

const list = (version: number, items: KubeObject[], more = ''): JsonObject => ({
  metadata: { resourceVersion: String(version), continue: more },
  items,
});

const expired = event('ERROR', { code: 410, message: 'too old resource version' });

test('delivers a list in pages, then watch events', async () => {
  const watch = new Watch();
  const world = new World([list(7, [object('a', 3)], 'next page'), list(7, [object('b', 5)])], [watch]);
  expect(await world.news()).toEqual(['=a,b', '.', '.']);
  expect(world.asked).toEqual(['limit=500', 'limit=500&continue=next+page', 'watch 7']);
  watch.send(event('ADDED', object('c', 8)), event('MODIFIED', object('a', 9)), event('DELETED', object('b', 10)));
  expect(await world.news()).toEqual(['+c', '.', '+a', '.', '-b', '.']);
});

test('a watch that ends is resumed immediately from the last event or bookmark, without a list', async () => {
  const [first, second] = [new Watch(), new Watch()];
  const world = new World([list(7, [])], [first, second, new Watch()]);
  first.send(event('ADDED', object('a', 8)), undefined);
  second.send(event('BOOKMARK', object('', 20)), undefined);
  expect(await world.news()).toEqual(['=', '.', '.', '+a', '.', '.', '.', '.']);
  expect(world.asked).toEqual(['limit=500', 'watch 7', 'watch 8', 'watch 20']);
});

test.each<[string, Watch | Error]>([
  ['an event', said(expired)],
  ['a refusal', new ClusterError(410, 'Gone')],
])(
  'a resource version that is too old, reported by %s, causes a new list, and no error is reported',
  async (_, watch) => {
    const world = new World([list(7, [object('a', 1)]), list(30, [object('b', 2)])], [watch, new Watch()]);
    await world.settle();
    world.clock.advance(250);
    expect((await world.news()).filter((text) => text !== '.')).toEqual(['=a', '=b']);
    expect(world.asked).toEqual(['limit=500', 'watch 7', 'limit=500', 'watch 30']);
  },
);

test('a list that expires between its pages starts from scratch', async () => {
  const world = new World(
    [list(7, [object('a', 1)], 'x'), new ClusterError(410, 'Expired'), list(9, [object('a', 1)])],
    [new Watch()],
  );
  await world.settle();
  world.clock.advance(250);
  expect((await world.news()).filter((text) => text !== '.')).toEqual(['=a']);
});

test('a broken connection is reported, and the watch is resumed with exponential backoff', async () => {
  const [first, second] = [new Watch(), new Watch()];
  const world = new World([list(7, [])], [first]);
  await world.news();
  first.send(new ClusterError(0, 'reset'));
  expect(await world.news()).toEqual(['reset']);
  const waits: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    let waited = 0;
    while ((await world.news()).length === 0) world.clock.advance((waited += 250) && 250);
    waits.push(waited);
  }
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
  world.watches.push(second, new Watch());
  world.clock.advance(8000);
  expect(await world.news()).toEqual(['.']);
  expect(world.asked.filter((text) => text.startsWith('limit'))).toHaveLength(1);
  // The established watch reset the backoff.
  second.send(new ClusterError(0, 'reset'));
  await world.settle();
  world.clock.advance(250);
  expect(await world.news()).toEqual(['reset', '.']);
});

test('a refused list is reported every time, without a list of objects', async () => {
  const refusal = new ClusterError(403, 'forbidden');
  const world = new World([refusal, refusal], []);
  expect(await world.news()).toEqual(['forbidden']);
  world.clock.advance(250);
  expect(await world.news()).toEqual(['forbidden']);
});

test('watches that end immediately without events are not reopened in a tight loop', async () => {
  const world = new World([list(7, [])], [said(), said(), said(), new Watch()]);
  await world.settle();
  expect(world.asked).toEqual(['limit=500', 'watch 7']);
  world.clock.advance(250);
  await world.settle();
  expect(world.asked).toHaveLength(3);
});

test('an abort ends it silently', async () => {
  const watch = new Watch();
  const world = new World([list(7, [])], [watch]);
  await world.news();
  world.stop.abort();
  watch.send(new ClusterError(0, 'aborted'));
  expect(await world.news()).toEqual([]);
  world.clock.advance(60_000);
  await world.settle();
  expect(world.asked).toHaveLength(2);
});
