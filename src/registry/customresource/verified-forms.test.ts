import { setImmediate as turn } from 'node:timers/promises';
import { MemoryBackend, MemoryData } from '../../../test/fakes/storage/memory-backend.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import { encodeObject } from '../../storage/encode.js';
import { VerifiedMarks } from '../../storage/verified-marks.js';
import type { CompiledVersion } from './compiled.js';
import type { ServeOptions } from './serve-options.js';
import { keepVerified } from './verified-forms.js';
import type { CustomView } from './view.js';

const RESOURCE = 'widgets.a.b';
const OBJECTS = 1_000;

/** A store whose objects say by which definition they were written, and a process that serves them. */
class Server {
  readonly clock = new FakeClock();
  readonly objects = new Map<string, { revision: number; form: string }>();
  /** The objects that were looked at. */
  looks = 0;
  /** The revision up to which stored bytes are shown. */
  shownUpTo = -1;
  /** False once another definition was written, which this process has not noticed yet. */
  isNewest = true;
  private ended = new AbortController();
  private listeners = new Set<() => void>();

  private constructor(
    private readonly backend: MemoryBackend,
    private readonly form: string,
    private readonly isShared: boolean,
  ) {}

  static async start(data: MemoryData, form: string, isShared = false, from?: Server): Promise<Server> {
    const backend = new MemoryBackend({ data });
    await backend.open();
    const server = new Server(backend, form, isShared);
    for (const [key, object] of from?.objects ?? []) server.objects.set(key, object);
    server.serve();
    await server.settle();
    return server;
  }

  /** The process is gone, without a word. */
  kill(): void {
    this.ended.abort();
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 20; i++) await turn();
  }

  async pass(millis: number): Promise<void> {
    for (let passed = 0; passed < millis; passed += 500) {
      this.clock.advance(500);
      await this.settle();
    }
  }

  async write(key: string, form = this.form): Promise<void> {
    const value = encodeObject({ apiVersion: 'a.b/v1', kind: 'Widget', metadata: { name: key } });
    const expected = this.objects.get(key)?.revision ?? 0;
    const { object } = (await this.backend.write({ resource: RESOURCE, key, expected, value })) as {
      object: { revision: number };
    };
    this.objects.set(key, { revision: object.revision, form });
    for (const listener of [...this.listeners]) listener();
  }

  async fill(): Promise<void> {
    for (let i = 0; i < OBJECTS; i++) await this.write(`w${i}`);
  }

  /** Every object whose stored bytes are shown must have been written by this definition. */
  check(): void {
    const wrong = [...this.objects.values()].filter(
      ({ revision, form }) => revision <= this.shownUpTo && form !== this.form,
    );
    expect(wrong).toEqual([]);
  }

  private serve(): void {
    const { form } = this;
    const view = {
      showsStoredVersion: true,
      trust: (revision: number) => (this.shownUpTo = revision),
      verify: (objects: Iterable<CachedObject>, signal: AbortSignal, _clock: unknown, known: number | undefined) => {
        let isCurrent = true;
        for (const object of objects) {
          if (object.revision <= (known ?? -1)) continue;
          this.looks++;
          isCurrent &&= (object as unknown as { form: string }).form === form;
        }
        if (signal.aborted) return Promise.resolve(false);
        this.shownUpTo = isCurrent ? Infinity : (known ?? -1);
        return Promise.resolve(isCurrent);
      },
    } as Partial<CustomView> as CustomView;
    const cache = {
      ready: () => Promise.resolve(),
      size: () => this.objects.size,
      revision: () => this.backend.revisionNow(),
      peekAll: () => [...this.objects.values()] as unknown as CachedObject[],
      onChange: (listener: () => void) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
    };
    const options = {
      compiled: { definition: { uid: 'u', group: 'a.b' } },
      store: { resource: RESOURCE, cache },
      verification: {
        marks: new VerifiedMarks(this.backend, '1'),
        isShared: this.isShared,
        isNewest: () => Promise.resolve(this.isNewest),
      },
      epoch: 1,
      signal: this.ended.signal,
      clock: this.clock,
    } as unknown as ServeOptions;
    const version = { version: { name: 'v1', schema: { form } }, preserveUnknownFields: false };
    void keepVerified(view, version as unknown as CompiledVersion, options);
  }
}

test('a start under the same definition looks only at what was written since the mark', async () => {
  const data = new MemoryData();
  const first = await Server.start(data, 'A');
  await first.fill();
  await first.pass(120_000);
  await first.write('w3');
  await first.write('w4');
  first.kill();
  const second = await Server.start(data, 'A', false, first);
  await second.pass(2_000);
  expect([second.looks, second.shownUpTo]).toEqual([2, Infinity]);
});

test('the bytes of what is marked are shown before anything was looked at', async () => {
  const data = new MemoryData();
  const first = await Server.start(data, 'A');
  await first.fill();
  await first.pass(120_000);
  first.kill();
  const second = await Server.start(data, 'A', false, first);
  expect([second.looks, second.shownUpTo]).toEqual([0, OBJECTS + 1]);
});

test('a changed definition and a small type are verified in full', async () => {
  const data = new MemoryData();
  const first = await Server.start(data, 'A');
  await first.fill();
  await first.pass(120_000);
  first.kill();
  const second = await Server.start(data, 'B', false, first);
  await second.pass(2_000);
  expect([second.looks, second.shownUpTo]).toEqual([OBJECTS, -1]);
  second.objects.delete('w9');
  await second.pass(120_000);
  second.kill();
  const small = await Server.start(new MemoryData(), 'A');
  await small.write('w1');
  await small.pass(300_000);
  small.kill();
  const next = await Server.start(new MemoryData(), 'A', false, small);
  await next.pass(2_000);
  expect(next.looks).toBe(1);
});

test('a process that has not noticed the newest definition marks nothing', async () => {
  const data = new MemoryData();
  const server = await Server.start(data, 'A');
  await server.fill();
  server.isNewest = false;
  await server.write('w1', 'B');
  await server.pass(120_000);
  server.kill();
  const next = await Server.start(data, 'A', false, server);
  next.check();
  await next.pass(2_000);
  expect([next.looks, next.shownUpTo]).toEqual([OBJECTS, -1]);
});

test('what another replica wrote under an earlier definition, before it noticed the change, is found', async () => {
  const data = new MemoryData();
  const server = await Server.start(data, 'A', true);
  await server.fill();
  expect(server.shownUpTo).toBe(Infinity);
  await server.write('late', 'before');
  await server.pass(120_000);
  server.check();
  server.kill();
  const next = await Server.start(data, 'A', true, server);
  next.check();
  await next.pass(120_000);
  next.check();
});

test('whatever the definitions, writes and deaths, no object of another form is shown as stored', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    let state = seed;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
      return (state >> 8) % below;
    };
    const data = new MemoryData();
    let server = await Server.start(data, 'A');
    for (let i = 0; i < OBJECTS; i++) await server.write(`w${i}`);
    for (let step = 0; step < 12; step++) {
      for (let i = random(4); i > 0; i--) await server.write(`w${random(OBJECTS)}`);
      if (random(2) === 0) await server.pass(500 + 500 * random(260));
      server.check();
      if (random(2) === 0) continue;
      server.kill();
      server = await Server.start(data, random(3) === 0 ? 'B' : 'A', false, server);
      server.check();
    }
    server.kill();
  }
});
