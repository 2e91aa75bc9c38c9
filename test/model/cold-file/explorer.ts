import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { StorageCacher } from '../../../src/storage/cacher/cacher.js';
import type { ResourceCache } from '../../../src/storage/cacher/interfaces.js';
import { WorkingSet } from '../../../src/storage/cacher/tree/working-set.js';
import { StorageError } from '../../../src/storage/errors.js';
import type { Revision } from '../../../src/storage/interfaces.js';
import { changesAfter } from '../../../src/storage/mongodb/cold/backend.js';
import { PLACE, RECORD } from '../../../src/storage/mongodb/cold/records.js';
import { ColdType } from '../../../src/storage/mongodb/cold/type.js';
import type { FakeClock } from '../../fakes/util/clock.js';
import { attributes, identity, joined, page } from '../../storage/cacher-fixtures.js';
import { LimitedFile } from '../../storage/cold-fixtures.js';
import type { Random } from '../random.js';
import { RestlessClock } from '../restless-clock.js';
import { ModelStore, RESOURCE } from './store.js';

export class Violation extends Error {}

/** More keys than fit into one leaf. */
const KEYS = Array.from({ length: 180 }, (_, i) => `a/k${String(i).padStart(3, '0')}`);
const FEW = 14;
const EXPECTED = new Set(['unavailable', 'initializing', 'too-large', 'compacted', 'closed']);

interface Process {
  readonly file: LimitedFile;
  readonly cacher: StorageCacher;
  readonly cache: ResourceCache;
  readonly clock: FakeClock;
}

/** Explores one directory, used by one process after another, and compares what each serves with the store. */
export class Explorer {
  readonly trace: string[] = [];
  /** How often a type was served from the file of an earlier process. */
  resumed = 0;
  private readonly directory = mkdtempSync(join(tmpdir(), 'annex-model-'));
  private readonly store = new ModelStore();
  private process: Process | undefined;
  private boots = 1;

  private readonly keys: readonly string[];
  private readonly restlessness: number;

  constructor(private readonly random: Random) {
    this.keys = random.chance(0.3) ? KEYS : KEYS.slice(0, FEW);
    this.restlessness = random.pick([0.05, 0.5]);
  }

  async run(steps: number): Promise<void> {
    try {
      for (const key of this.keys) this.store.write(key, { text: '' });
      await this.start();
      for (let i = 0; i < steps; i++) {
        await this.step();
        await this.breathe();
      }
      await this.restart();
      await this.check();
    } finally {
      await this.stop();
      rmSync(this.directory, { recursive: true });
    }
  }

  private async step(): Promise<void> {
    const { random, store } = this;
    const [name, action] = random.weighted<readonly [string, () => void | Promise<void>]>([
      [12, ['write', () => this.write()]],
      [2, ['write another type', () => store.writeOther()]],
      [6, ['time', () => this.process?.clock.advance(random.pick([1_000, 5_000, 31_000]))]],
      [0.5, ['minutes', () => this.process?.clock.advance(200_000)]],
      [1, ['trim', () => store.trim(random.below(25))]],
      [0.3, ['raise', () => store.raise(5 + random.below(5))]],
      [1, ['down', () => this.setDown(random.chance(0.5))]],
      [1.5, ['full', () => this.setFull(random.chance(0.5))]],
      [1, ['broken', () => this.setBroken(random.chance(0.5))]],
      [1, ['save, restart', () => this.restartWithinSave()]],
      [4, ['check', () => this.check()]],
      [3, ['restart', () => this.restart()]],
    ]);
    this.trace.push(`${store.revision} ${name}`);
    await action();
  }

  private write(): void {
    const { random, store } = this;
    for (let i = random.chance(0.2) ? 5 : 1; i > 0; i--)
      store.write(random.pick(this.keys), random.chance(0.3) ? undefined : { text: String(random.below(1_000)) });
  }

  private setDown(down: boolean): void {
    this.store.down = down;
    this.store.wake();
  }

  private setFull(isFull: boolean): void {
    if (this.process !== undefined) this.process.file.isFull = isFull;
  }

  private setBroken(isBroken: boolean): void {
    if (this.process !== undefined) this.process.file.isBroken = isBroken;
  }

  private restartWithinSave(): Promise<void> {
    this.process?.clock.advance(31_000);
    return this.restart();
  }

  private async breathe(): Promise<void> {
    for (let i = this.random.below(4); i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Ends the process as if it were killed: nothing is written at its end. */
  private async stop(): Promise<void> {
    const { process, store } = this;
    this.process = undefined;
    store.file = undefined;
    if (process === undefined) return;
    const stopped = process.cacher.stop();
    store.wake();
    await stopped;
    await process.file.close();
  }

  private async restart(): Promise<void> {
    const { random, store } = this;
    await this.stop();
    const before = store.revision;
    for (let i = random.below(3); i > 0; i--) this.write();
    if (random.chance(0.15)) {
      store.restore(Math.max(1, before - random.below(30)));
      this.trace.push(`  restored to ${store.revision}`);
      for (let i = random.below(12); i > 0; i--) this.write();
    }
    if (random.chance(0.1)) store.trim(random.below(10));
    if (random.chance(0.1)) this.boots++;
    if (random.chance(0.15)) await this.damage(random.pick([PLACE, RECORD]));
    this.setDown(false);
    await this.start();
  }

  /** Flips one bit of a value. */
  private async damage(kind: number): Promise<void> {
    this.trace.push(`  damage ${kind}`);
    const root = open<Buffer, Buffer>(join(this.directory, 'cold.mdb'), {
      encoding: 'binary',
      keyEncoding: 'binary',
      noSubdir: true,
      pageSize: 16 << 10,
    });
    const found = [...root.getRange({ start: Buffer.of(kind), end: Buffer.of(kind + 1) })];
    if (found.length > 0) {
      const { key, value } = this.random.pick(found);
      const changed = Buffer.from(value);
      const at = this.random.below(changed.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << this.random.below(8));
      root.putSync(key, changed);
    }
    await root.close();
  }

  private async start(): Promise<void> {
    const { random, store, directory } = this;
    const clock = new RestlessClock(random, { chance: this.restlessness, millis: 10 });
    const file = new LimitedFile({
      directory,
      clock,
      boot: `boot ${this.boots}`,
      savedAtOnce: 1 + random.below(this.keys.length / 4),
    });
    await file.open();
    const loads = store.loads;
    store.file = new ColdType(file, {
      resource: RESOURCE,
      clock,
      walk: (visit) => store.walk(visit),
      batchAt: (revision) => store.batchAt(revision),
      changesAfter: (checkpoint) => changesAfter(store, RESOURCE, checkpoint),
    }).states;
    const warmth = new WorkingSet(random.pick([0, 3_000, 100_000]));
    const cacher = new StorageCacher({ backend: store, clock, warmth });
    await cacher.start();
    const cache = cacher.add({ resource: RESOURCE, attributes });
    this.process = { file, cacher, cache, clock };
    if (random.chance(0.7)) await this.check();
    if (store.loads === loads) this.resumed++;
  }

  /** Verifies that a list shows exactly the state at its revision. */
  private async check(): Promise<void> {
    const { process, store } = this;
    if (process === undefined) return;
    for (let attempt = 0; attempt < 40; attempt++) {
      const shown = await this.list(process, store.revision);
      if (shown !== undefined) {
        const { revision, text } = shown;
        const wanted = [...store.stateAt(revision)]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([, { bytes }]) => Buffer.from(bytes).toString())
          .join(',');
        if (text !== wanted) throw new Violation(`at ${revision} it shows\n${text}\nwhere there is\n${wanted}`);
        return;
      }
      if (store.down) return;
      process.clock.advance(1_000);
    }
    throw new Violation('there is no answer');
  }

  /** Returns undefined if the list has to be retried. */
  private async list(
    { cache, clock }: Process,
    least: Revision,
  ): Promise<{ readonly revision: Revision; readonly text: string } | undefined> {
    const state = { isOver: false };
    const answer = cache
      .list({ mode: 'most-recent' }, page())
      .then((list) => ({ revision: list.revision, text: joined(list, identity) }))
      .catch((error: unknown) => {
        if (error instanceof StorageError && EXPECTED.has(error.code)) return undefined;
        throw error;
      })
      .finally(() => (state.isOver = true));
    for (let i = 0; !state.isOver && i < 200; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (i % 20 === 19) clock.advance(500);
    }
    const shown = await answer;
    if (shown !== undefined && shown.revision < least) throw new Violation(`it shows ${shown.revision}, not ${least}`);
    return shown;
  }
}
