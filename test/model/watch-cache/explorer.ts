import { StorageCacher } from '../../../src/storage/cacher/cacher.js';
import type { CachedType, ReadAt, ResourceCache } from '../../../src/storage/cacher/interfaces.js';
import { StorageError } from '../../../src/storage/errors.js';
import type { Revision } from '../../../src/storage/interfaces.js';
import { EVERYTHING } from '../../../src/apimachinery/selectors/selection-predicate.js';
import { attributes, colored, page } from '../../storage/cacher-fixtures.js';
import type { Random } from '../random.js';
import { RestlessClock } from '../restless-clock.js';
import { checkList, contentOf, same, Violation, WatchAccount } from './account.js';
import { WorkingSet } from '../../../src/storage/cacher/tree/working-set.js';
import { FakeBackend } from './fake-backend.js';

const RESOURCES = ['widgets.example.com', 'gadgets.example.com'];
const KEYS = ['a/a', 'a/b', 'b/a', 'b/b', 'c/a'];
const COLORS = ['red', 'green', ''];
/** Errors that a read may end with while the store is failing. */
const EXPECTED = new Set(['unavailable', 'initializing', 'too-large', 'compacted', 'closed']);
const ROUNDS_TO_SETTLE = 60;

/** Returns a type whose objects all appear green if `painted`, otherwise in their own color. */
function typeOf(resource: string, painted: boolean): CachedType {
  return {
    resource,
    attributes: (object) => {
      const seen = attributes(object);
      return painted ? { ...seen, fields: { ...seen.fields, 'spec.color': 'green' } } : seen;
    },
  };
}

/** Drives a cacher through one schedule of events, faults, and reads, and verifies everything that it serves. */
export class Explorer {
  readonly trace: string[] = [];
  private readonly backend: FakeBackend;
  private readonly clock: RestlessClock;
  private readonly cacher: StorageCacher;
  private readonly caches = new Map<string, ResourceCache>();
  private readonly painted = new Map<string, boolean>();
  /** How often a type was redefined. */
  private readonly described = new Map<string, number>();
  private readonly watches = new Set<WatchAccount>();
  private readonly reads = new Set<Promise<void>>();
  private failure: Error | undefined;
  private full = false;

  constructor(private readonly random: Random) {
    this.backend = new FakeBackend(random);
    this.clock = new RestlessClock(random, { chance: 0.03, millis: 6 });
    this.cacher = new StorageCacher({
      backend: this.backend,
      clock: this.clock,
      // The room in memory decides which objects are only in the file.
      warmth: new WorkingSet(random.pick([0, 2_000, 1 << 20])),
      historyEvents: 12,
      maxPending: 6,
      maxBacklog: 8,
      snapshotMillis: 5_000,
    });
  }

  async run(steps: number): Promise<void> {
    for (let i = 0; i < 5; i++) this.write();
    const started = this.cacher.start();
    this.backend.settle();
    await started;
    for (const resource of RESOURCES) this.add(resource, false);
    try {
      for (let i = 0; i < steps && this.failure === undefined; i++) {
        this.step();
        await this.breathe();
      }
      this.backend.stale = false;
      this.full = false;
      await this.settle();
      await this.converged();
    } finally {
      const stopped = this.cacher.stop();
      this.backend.settle();
      await stopped;
    }
    if (this.failure !== undefined) throw this.failure;
  }

  private step(): void {
    const { random, backend } = this;
    const [name, action] = random.weighted<readonly [string, () => void]>([
      [
        10,
        [
          'write',
          () => {
            this.write();
          },
        ],
      ],
      [
        12,
        [
          'deliver',
          () => {
            backend.deliver();
          },
        ],
      ],
      [
        12,
        [
          'answer',
          () => {
            backend.answer();
          },
        ],
      ],
      [
        2,
        [
          'refuse',
          () => {
            backend.refuse();
          },
        ],
      ],
      [
        1,
        [
          'lose compacted',
          () => {
            backend.lose('compacted');
          },
        ],
      ],
      [
        1,
        [
          'lose unavailable',
          () => {
            backend.lose('unavailable');
          },
        ],
      ],
      [
        0.5,
        [
          'hole',
          () => {
            backend.lose('hole');
          },
        ],
      ],
      [
        1,
        [
          'stale',
          () => {
            backend.stale = random.chance(0.3);
          },
        ],
      ],
      [
        1,
        [
          'full',
          () => {
            this.makeFull(random.chance(0.4));
          },
        ],
      ],
      [
        4,
        [
          'time',
          () => {
            this.clock.advance(random.pick([50, 300, 600, 2_000]));
          },
        ],
      ],
      [
        0.2,
        [
          'minute',
          () => {
            this.clock.advance(61_000);
          },
        ],
      ],
      [
        6,
        [
          'list',
          () => {
            this.list();
          },
        ],
      ],
      [
        5,
        [
          'get',
          () => {
            this.get();
          },
        ],
      ],
      [
        2,
        [
          'watch',
          () => {
            this.watch();
          },
        ],
      ],
      [
        0.7,
        [
          'retype',
          () => {
            this.add(random.pick(RESOURCES), random.chance(0.5));
          },
        ],
      ],
      [
        0.3,
        [
          'remove',
          () => {
            this.remove(random.pick(RESOURCES));
          },
        ],
      ],
    ]);
    this.trace.push(`${backend.newest} ${name}`);
    action();
  }

  /** Runs some, or all, of the pending work. */
  private async breathe(): Promise<void> {
    if (this.random.chance(0.3)) return;
    if (this.random.chance(0.4)) {
      for (let i = this.random.below(6); i > 0; i--) await Promise.resolve();
      return;
    }
    for (let i = this.random.below(3); i >= 0; i--) await new Promise((resolve) => setImmediate(resolve));
    this.check();
  }

  private check(): void {
    for (const watch of this.watches) this.failure ??= watch.problem;
  }

  private write(): void {
    const count = this.random.chance(0.1) ? 10 : 1;
    for (let i = 0; i < count; i++)
      this.backend.write(this.random.pick(RESOURCES), this.random.pick(KEYS), this.random.pick(COLORS));
  }

  private makeFull(full: boolean): void {
    this.full = full;
    if (!full) for (const { watcher } of this.watches) watcher?.resume();
  }

  private add(resource: string, painted: boolean): void {
    if (this.painted.get(resource) !== painted) this.described.set(resource, (this.described.get(resource) ?? 0) + 1);
    this.painted.set(resource, painted);
    this.caches.set(resource, this.cacher.add(typeOf(resource, painted)));
  }

  private remove(resource: string): void {
    this.cacher.remove(resource);
    this.add(resource, this.painted.get(resource) ?? false);
  }

  private cacheOf(resource: string): ResourceCache {
    const cache = this.caches.get(resource);
    if (cache === undefined) throw new Error('no such cache');
    return cache;
  }

  private anyRead(): ReadAt {
    const { random, backend } = this;
    const near = (): Revision => Math.max(1, backend.newest - random.below(20) + 2);
    return random.weighted<ReadAt>([
      [3, { mode: 'any' }],
      [4, { mode: 'most-recent' }],
      [3, { mode: 'not-older-than', revision: near(), atOnce: random.chance(0.3) }],
      [2, { mode: 'exact', revision: near() }],
    ]);
  }

  /** Returns the oldest revision that a read may show. */
  private lowest(at: ReadAt): Revision {
    if (at.mode === 'most-recent') return this.backend.newest;
    return at.mode === 'any' ? 0 : at.revision;
  }

  private list(): void {
    const resource = this.random.pick(RESOURCES);
    const at = this.anyRead();
    const lowest = this.lowest(at);
    const selecting = this.random.chance(0.25);
    const described = this.described.get(resource);
    const predicate = selecting ? colored('green', this.random.chance(0.5) ? 'green' : undefined) : EVERYTHING;
    this.read(`list ${resource} ${JSON.stringify(at)}`, async () => {
      const list = await this.cacheOf(resource).list(at, page({ predicate }));
      if (list.revision < lowest) throw new Violation(`shows ${list.revision}, but ${lowest} was asked for`);
      if (at.mode === 'exact' && list.revision !== at.revision) throw new Violation(`shows ${list.revision}`);
      if (list.revision > this.backend.newest) throw new Violation(`shows ${list.revision}, which is to come`);
      if (!selecting) checkList(this.backend, resource, list);
      // The selected objects are known only if the type has not been redefined meanwhile.
      else if (described === this.described.get(resource))
        this.checkSelection(resource, list.revision, [...list.items()]);
    });
  }

  private checkSelection(
    resource: string,
    revision: Revision,
    items: readonly { key: string; revision: Revision }[],
  ): void {
    const state = this.backend.stateAt(resource, revision);
    if (this.painted.get(resource) !== true)
      for (const [key, event] of state) if (!Buffer.from(event.object.bytes).includes('"green"')) state.delete(key);
    const shown = items.map((item) => `${item.key}@${item.revision}`).sort();
    same(`the green ones of ${resource} at ${revision}`, shown, contentOf(state));
  }

  private get(): void {
    const resource = this.random.pick(RESOURCES);
    const key = this.random.pick(KEYS);
    const at = this.anyRead();
    const lowest = this.lowest(at);
    const check = (revision: Revision | undefined): void => {
      const highest = at.mode === 'exact' ? at.revision : this.backend.newest;
      for (let at = lowest; at <= highest; at++)
        if (this.backend.stateAt(resource, at).get(key)?.revision === revision) return;
      throw new Violation(`shows ${key}@${String(revision)}, which it was not between ${lowest} and ${highest}`);
    };
    this.read(`get ${resource} ${key} ${JSON.stringify(at)}`, async () => {
      const cache = this.cacheOf(resource);
      const now = cache.getNow?.(key, at);
      if (now !== undefined) check(now.revision);
      check((await cache.get(key, at))?.revision);
    });
  }

  private watch(): void {
    const resource = this.random.pick(RESOURCES);
    const start = this.anyRead();
    const from = start.mode === 'exact' ? start.revision : undefined;
    const lowest = this.lowest(start);
    this.read(`watch ${resource} ${JSON.stringify(start)}`, async () => {
      const account = new WatchAccount(this.backend, resource, from, lowest, () => !this.full);
      const options = {
        prefix: '',
        predicate: EVERYTHING,
        start,
        initialEventsBookmark: true,
        bookmarks: true,
        deadline: Infinity,
      };
      account.watcher = await this.cacheOf(resource).watch(options, account);
      this.watches.add(account);
    });
  }

  private read(what: string, action: () => Promise<void>): void {
    this.trace.push(`  ${what}`);
    const read = action()
      .catch((error: unknown) => {
        if (error instanceof StorageError && EXPECTED.has(error.code)) return;
        const why = error instanceof Error ? error : new Error(String(error));
        this.failure ??= new Violation(`${what}: ${why.message}`, { cause: error });
      })
      .finally(() => this.reads.delete(read));
    this.reads.add(read);
  }

  /** Lets the store recover, and time pass. */
  private async settle(): Promise<void> {
    for (let i = 0; i < ROUNDS_TO_SETTLE; i++) {
      this.backend.settle();
      this.makeFull(false);
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(1_000);
    }
    this.check();
  }

  private async converged(): Promise<void> {
    if (this.failure !== undefined) return;
    if (this.reads.size > 0) throw new Violation(`${this.reads.size} reads are never answered`);
    for (const resource of RESOURCES) {
      const { revision } = await this.last(resource);
      if (revision !== this.backend.newest) throw new Violation(`${resource} stays at ${revision}`);
    }
    for (const watch of this.watches) watch.complete();
  }

  private async last(resource: string): Promise<{ readonly revision: Revision }> {
    const list = this.cacheOf(resource).list({ mode: 'most-recent' }, page());
    list.catch(() => undefined);
    await this.settle();
    checkList(this.backend, resource, await list);
    return list;
  }
}
