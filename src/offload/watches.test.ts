import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { EventEmitter } from 'node:events';
import { watchHandler } from '../endpoints/handlers/watch.js';
import type { RequestScope } from '../endpoints/handlers/scope.js';
import { GenericStorage } from '../registry/generic/storage.js';
import { ResourceStore } from '../registry/generic/store/resource-store.js';
import { Budget } from '../storage/cacher/budget.js';
import { cachedItem } from '../storage/cacher/tree/cached-item.js';
import { CachedEvent } from '../storage/cacher/watch/events.js';
import type { WatchEvent, Watcher, WatchReceiver } from '../storage/cacher/interfaces.js';
import { emptyCache } from './remote-types.js';
import { closeAll, scopeOf, setup, thing, Answer, type World } from '../../test/fakes/offload/world.js';

afterEach(closeAll);

const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const LARGE_OBJECT = 300_000;

const type = { resource: 'things', attributes: () => ({ labels: undefined, fields: {} }) };

function event(name: string, revision: number, length: number): CachedEvent {
  const { apiVersion, kind, metadata, spec } = thing(name, { size: 3, text: `ü${'x'.repeat(length)}` });
  const meta = {
    resourceVersion: String(revision),
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(metadata as object),
  };
  const bytes = Buffer.from(JSON.stringify({ apiVersion, kind, metadata: meta, spec }));
  return new CachedEvent(
    'ADDED',
    revision,
    cachedItem(
      { key: `ns/${name}`, revision, bytes, flags: 0 },
      { type: () => type, budget: new Budget(1 << 20), localStates: undefined, onLost: () => undefined },
    ),
  );
}

/** The watch of a client. `give` delivers events to it, and `text` holds what was written. */
class Watch {
  text = '';
  resumed = 0;
  stopped = false;
  /** The value that each write to the transport returns. */
  writable = true;
  readonly events = new EventEmitter();
  readonly ended: Promise<void>;
  private receiver: WatchReceiver | undefined;
  private readonly abort = new AbortController();

  constructor(world: World, accept: string, query = '', elsewhere = true) {
    const { scope } = scopeOf(world, 'update', '', '', this.abort.signal);
    const request = new IncomingMessage(new Socket());
    const url = `/apis/example.com/v1/namespaces/ns/things?watch=1${query}`;
    Object.assign(request, { method: 'GET', url, headers: { accept } });
    const response = new Answer(request);
    response.flushHeaders = () => undefined;
    response.write = (chunk: Uint8Array): boolean => {
      this.text += Buffer.from(chunk).toString();
      this.events.emit('written');
      return this.writable;
    };
    const watcher: Watcher = {
      resume: () => {
        this.resumed++;
        this.events.emit('resumed');
      },
      stop: () => {
        this.stopped = true;
      },
    };
    const cache = {
      ...emptyCache('things.example.com'),
      watch: (_options: unknown, receiver: WatchReceiver) => {
        this.receiver = receiver;
        return Promise.resolve(watcher);
      },
    };
    const type = { group: 'example.com', resource: 'things', namespaced: true };
    const { backend, clock } = world;
    const environment = elsewhere ? world.environment : { ...world.environment, offload: undefined };
    const watched: RequestScope = {
      ...scope,
      environment: { ...environment, minRequestTimeoutSeconds: 1000 },
      context: { ...scope.context, info: { ...scope.context.info, verb: 'watch', name: '' } },
      request,
      response,
      storage: new GenericStorage(scope.served, new ResourceStore(type, 'things.example.com', backend, cache, clock)),
    };
    this.ended = watchHandler(watched);
    this.drain = () => {
      response.emit('drain');
    };
  }

  readonly drain: () => void;

  async give(...events: WatchEvent[]): Promise<boolean> {
    while (this.receiver === undefined) await Promise.resolve();
    return this.receiver.receive(events);
  }

  /** Resolves once the watcher is resumed. */
  async goneOn(): Promise<void> {
    while (this.resumed === 0) await new Promise((resolve) => this.events.once('resumed', resolve));
  }

  async written(): Promise<void> {
    await new Promise((resolve) => this.events.once('written', resolve));
  }

  async leave(): Promise<void> {
    this.abort.abort();
    await this.ended;
  }
}

const several = (): CachedEvent[] => [
  event('a', 1, 100),
  event('large', 2, LARGE_OBJECT),
  event('b', 3, 100),
  event('larger', 4, LARGE_OBJECT + 1),
  event('c', 5, 100),
];

test.each([
  ['Tables', TABLE, ''],
  ['Tables with the object', TABLE, '&includeObject=Object'],
])('a worker renders large events as %s in order, like the main thread', async (_name, accept, query) => {
  const world = setup();
  const away = new Watch(world, accept, query);
  const here = new Watch(world, accept, query, false);
  expect(await here.give(...several())).toBe(true);
  expect(await away.give(...several())).toBe(false);
  // Events before the first large one are written at once.
  expect(away.text.split('\n')).toHaveLength(2);
  await away.goneOn();
  expect(away.text).toBe(here.text);
  expect(away.text.match(/"resourceVersion":"\d"/g)).toContain('"resourceVersion":"5"');
  expect(world.metrics.observeDuration).toHaveBeenCalledTimes(2);
  expect(await away.give(event('d', 6, 100))).toBe(true);
  expect(here.resumed).toBe(0);
  await Promise.all([away.leave(), here.leave()]);
});

test('an event is rendered once, regardless of the number of watches', async () => {
  const world = setup();
  const watches = [new Watch(world, TABLE), new Watch(world, TABLE), new Watch(world, TABLE)];
  const large = event('large', 2, LARGE_OBJECT);
  expect(await Promise.all(watches.map((one) => one.give(large)))).toEqual([false, false, false]);
  await Promise.all(watches.map((one) => one.goneOn()));
  expect(world.metrics.observeDuration).toHaveBeenCalledTimes(1);
  expect(new Set(watches.map(({ text }) => text)).size).toBe(1);
  // The rendering is cached with the event, so a later watch does not wait.
  const late = new Watch(world, TABLE);
  expect(await late.give(large)).toBe(true);
  await Promise.all([...watches, late].map((one) => one.leave()));
});

test('a watch that ends meanwhile does not cancel the event for another watch', async () => {
  const world = setup({ stuck: true });
  const gone = new Watch(world, TABLE);
  const other = new Watch(world, TABLE);
  const large = event('large', 2, LARGE_OBJECT);
  await gone.give(large);
  await other.give(large);
  await gone.leave();
  world.pool.close();
  await other.ended.catch(() => undefined);
  expect(gone.text).toBe('');
  expect(gone.stopped).toBe(true);
  // The rendering is requested again and refused, because the pool is closed.
  expect(other.text).toContain('"type":"ERROR"');
  expect(other.text).toContain('"code":500');
});

test('waits for a full transport to drain', async () => {
  const world = setup();
  const watch = new Watch(world, TABLE);
  watch.writable = false;
  expect(await watch.give(event('large', 1, LARGE_OBJECT), event('b', 2, 10))).toBe(false);
  await watch.written();
  await new Promise((resolve) => setImmediate(resolve));
  expect(watch.text).not.toContain('"resourceVersion":"2"');
  expect(watch.resumed).toBe(0);
  watch.writable = true;
  watch.drain();
  await watch.goneOn();
  expect(watch.text).toContain('"resourceVersion":"2"');
  await watch.leave();
});

test('a client that does not read costs one write of 64 KiB and one event, however many follow', async () => {
  const world = setup();
  const watch = new Watch(world, 'application/json');
  watch.writable = false;
  const events = Array.from({ length: 40 }, (_, i) => event(`e${i}`, i + 1, 10_000));
  expect(await watch.give(...events)).toBe(false);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 5; i++) await turn();
  const first = watch.text.length;
  expect(first).toBeLessThan(80_000);
  watch.drain();
  await watch.written();
  for (let i = 0; i < 5; i++) await turn();
  expect(watch.text.length - first).toBeLessThan(80_000);
  watch.writable = true;
  watch.drain();
  await watch.goneOn();
  expect(watch.text.match(/"name":"e\d+"/g)).toEqual(events.map((_, i) => `"name":"e${i}"`));
  await watch.leave();
});

test('metadata found in the stored bytes stays in the main thread', async () => {
  const world = setup();
  const watch = new Watch(world, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
  expect(await watch.give(...several())).toBe(true);
  expect(world.started).toHaveLength(0);
  await watch.leave();
});
