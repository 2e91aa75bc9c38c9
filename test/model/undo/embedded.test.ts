import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedBackend } from '../../../src/storage/embedded/backend.js';
import type { KeptEntry, KeptPolicy } from '../../../src/storage/kept/interfaces.js';
import { KEEP_DELETED, KEEP_NOTHING, longest, SHORTENING_MILLIS } from '../../../src/storage/kept/policies.js';
import type { Clock, Timer } from '../../../src/util/clock.js';
import { put, remove, RESOURCE } from '../../storage/fixtures.js';
import type { Random } from '../random.js';
import { explore, type Explorer } from '../schedules.js';

const HOUR = 3_600_000;
const WINDOW = 300_000;
const POLICIES: readonly { readonly policy: KeptPolicy | undefined }[] = [
  { policy: undefined },
  { policy: KEEP_NOTHING },
  { policy: { ...KEEP_DELETED, keepDeletedFor: 30 * HOUR } },
  { policy: { ...KEEP_DELETED, keepDeletedFor: 30 * HOUR, keepRevisionsFor: 10 * HOUR } },
  { policy: { ...KEEP_NOTHING, keepRevisionsFor: 40 * HOUR } },
];

/** A clock whose wall time may be set; timers never fire, because the schedule decides when the store trims. */
class SettableClock implements Clock {
  wall = Date.UTC(2026, 0, 1);
  running = 0;

  now(): number {
    return this.wall;
  }

  monotonic(): number {
    return this.running;
  }

  setTimer(): Timer {
    return { cancel: () => undefined };
  }

  pass(millis: number): void {
    this.wall += millis;
    this.running += millis;
  }
}

/** A write as the account knows it. */
interface Written {
  readonly key: string;
  readonly revision: number;
  readonly n: number;
  readonly deletion: boolean;
  /** When it was superseded (a deletion: when it was made), in milliseconds of running time. */
  superseded: number | undefined;
  by?: number;
  purged: boolean;
}

/** A store on a disk, and an account of what it has to keep, by the time that has really passed. */
class StoreExplorer implements Explorer {
  readonly trace: string[] = [];
  private readonly clock = new SettableClock();
  private readonly directory = mkdtempSync(join(tmpdir(), 'annex-undo-'));
  private backend: EmbeddedBackend;
  private readonly written: Written[] = [];
  private readonly living = new Map<string, Written>();
  /** Every policy that was set, with when (running time) it ended for whoever wants less. */
  private readonly policies: { readonly policy: KeptPolicy; ended: number | undefined }[] = [
    { policy: KEEP_DELETED, ended: undefined },
  ];
  private n = 0;

  constructor(private readonly random: Random) {
    this.backend = this.make();
  }

  async run(steps: number): Promise<void> {
    try {
      await this.backend.open();
      for (let i = 0; i < steps; i++) {
        await this.step();
        if (i % 4 === 0) await this.check();
      }
      await this.check();
      await this.backend.close();
    } finally {
      rmSync(this.directory, { recursive: true, force: true });
    }
  }

  private make(): EmbeddedBackend {
    return new EmbeddedBackend({ directory: this.directory, clock: this.clock, historyMillis: WINDOW });
  }

  private step(): Promise<void> {
    const { random } = this;
    const act = random.weighted<() => Promise<void>>([
      [8, () => this.write()],
      [5, () => this.delete()],
      [4, () => this.trim()],
      [2, () => this.pass(random.below(2 * WINDOW))],
      [2, () => this.pass(random.below(20) * HOUR)],
      [1, () => this.setPolicy()],
      [1, () => this.purge()],
      [1, () => this.restart()],
      [1, () => this.jump()],
    ]);
    return act();
  }

  private async write(): Promise<void> {
    const key = `a/${this.random.below(4)}`;
    const before = this.living.get(key);
    const n = ++this.n;
    const result = await this.backend.write(put(key, before?.revision ?? 0, { n }));
    if (result.outcome !== 'committed') throw new Error(`${key} was not written`);
    if (before !== undefined) Object.assign(before, { superseded: this.clock.running, by: result.object.revision });
    const written: Written = {
      key,
      revision: result.object.revision,
      n,
      deletion: false,
      superseded: undefined,
      purged: false,
    };
    this.written.push(written);
    this.living.set(key, written);
    this.trace.push(`${written.revision} write ${key}`);
  }

  private async delete(): Promise<void> {
    if (this.living.size === 0) return;
    const before = this.random.pick([...this.living.values()]);
    const { key, n } = before;
    const result = await this.backend.write(remove(key, before.revision));
    if (result.outcome !== 'committed') throw new Error(`${key} was not deleted`);
    const at = this.clock.running;
    Object.assign(before, { superseded: at, by: result.object.revision });
    this.living.delete(key);
    this.written.push({ key, revision: result.object.revision, n, deletion: true, superseded: at, purged: false });
    this.trace.push(`${result.object.revision} delete ${key}`);
  }

  private async trim(): Promise<void> {
    // Compacting nothing new trims what has left the window.
    await this.backend.compact(this.random.chance(0.3) ? await this.backend.currentRevision() : 1);
    this.trace.push(`trim ${this.backend.compactedRevision()}`);
  }

  private pass(millis: number): Promise<void> {
    this.clock.pass(millis);
    this.trace.push(`pass ${millis}`);
    return Promise.resolve();
  }

  private async setPolicy(): Promise<void> {
    const { policy } = this.random.pick(POLICIES);
    await this.backend.kept.setPolicy(RESOURCE, policy);
    const last = this.policies.at(-1);
    if (last !== undefined) last.ended = this.clock.running;
    this.policies.push({ policy: policy ?? KEEP_DELETED, ended: undefined });
    this.trace.push(`policy ${JSON.stringify(policy)}`);
  }

  private async purge(): Promise<void> {
    const key = `a/${this.random.below(4)}`;
    await this.backend.kept.purge(RESOURCE, [key]);
    for (const written of this.written)
      if (written.key === key && written.superseded !== undefined) written.purged = true;
    this.trace.push(`purge ${key}`);
  }

  private async restart(): Promise<void> {
    await this.backend.close();
    this.backend = this.make();
    await this.backend.open();
    this.trace.push('restart');
  }

  /** Sets the clock forward or back, by up to a year. */
  private jump(): Promise<void> {
    const by = (this.random.below(24 * 365 * 2) - 24 * 365) * HOUR;
    this.clock.wall = Math.max(Date.UTC(2020), this.clock.wall + by);
    this.trace.push(`jump ${by}`);
    return Promise.resolve();
  }

  /** Returns the policy that has to hold now: no policy that ended less than the delay ago may have lost anything. */
  private get owed(): KeptPolicy {
    const now = this.clock.running;
    // The time of the store may run twice as fast as real time while it catches up with a clock that was set forward.
    const held = this.policies.filter(({ ended }) => ended === undefined || 2 * (now - ended) < SHORTENING_MILLIS);
    return held.map(({ policy }) => policy).reduce(shortest);
  }

  private async check(): Promise<void> {
    const all = { prefix: '', after: 0, upTo: 0, order: 'oldest first', limit: 100_000 } as const;
    const { entries } = await this.backend.kept.list({ ...all, resource: RESOURCE });
    const shown = new Map(entries.map((entry) => [entry.revision, entry]));
    if (shown.size !== entries.length) throw new Error('a state is shown twice');
    const revisions = entries.map(({ revision }) => revision);
    if (revisions.some((revision, i) => i > 0 && revision <= (revisions[i - 1] ?? 0))) throw new Error('out of order');
    for (const written of this.written) this.checkState(written, shown.get(written.revision));
    await this.checkTrash();
    await this.checkCounts();
  }

  private checkState(written: Written, entry: KeptEntry | undefined): void {
    const { revision, superseded, purged, deletion, n } = written;
    if (entry !== undefined && specOf(entry) !== n) throw new Error(`${revision} has another content`);
    if (purged && entry !== undefined) throw new Error(`${revision} was purged and is shown`);
    if (entry !== undefined || purged) return;
    if (revision > this.backend.compactedRevision()) throw new Error(`${revision} is in the window and not shown`);
    // A state that was current when it left the window, before anybody kept it, is listed when what superseded it leaves the window, too.
    if (superseded === undefined || (written.by ?? 0) > this.backend.compactedRevision()) return;
    const age = this.clock.running - superseded;
    const keep = deletion ? this.owed.keepDeletedFor : this.owed.keepRevisionsFor;
    // While the store catches up, a state may be twice as old by its time.
    if (2 * age < keep && !this.wasUnkept(written)) throw new Error(`${revision} is ${age} old and gone`);
  }

  /** Reports whether a policy that has ended by now kept nothing of a state, so that it may have gone then. */
  private wasUnkept({ deletion, superseded = 0 }: Written): boolean {
    return this.policies.some(({ policy, ended }) => {
      const keep = deletion ? policy.keepDeletedFor : policy.keepRevisionsFor;
      return keep < 2 * (this.clock.running - superseded) + 1 && (ended === undefined || ended >= superseded);
    });
  }

  /** What is listed as deleted can be got, and its object is gone. */
  private async checkTrash(): Promise<void> {
    const options = { prefix: '', since: 0, from: '', limit: 1_000 };
    const { entries } = await this.backend.kept.deleted(RESOURCE, options);
    for (const entry of entries) {
      if (this.living.has(entry.key)) throw new Error(`${entry.key} is there and listed as deleted`);
      const found = await this.backend.kept.entry(RESOURCE, entry.key, entry.revision);
      if (found === undefined || specOf(found) !== specOf(entry)) throw new Error(`${entry.revision} cannot be got`);
      const last = this.written.findLast(({ key }) => key === entry.key);
      if (last?.revision !== entry.revision) throw new Error(`${entry.revision} is not the last of ${entry.key}`);
    }
    const listed = new Set(entries.map(({ key }) => key));
    for (const written of new Map(this.written.map((each) => [each.key, each])).values()) {
      const { key, deletion, purged, superseded = 0 } = written;
      const age = this.clock.running - superseded;
      if (!deletion || purged || listed.has(key) || this.wasUnkept(written)) continue;
      if (2 * age < this.owed.keepDeletedFor) throw new Error(`${key} was deleted ${age} ago and cannot be found`);
    }
  }

  private async checkCounts(): Promise<void> {
    const { revisions, deleted } = await this.backend.kept.usage(RESOURCE);
    for (const { count, bytes, oldest } of [revisions, deleted]) {
      if (count < 0 || bytes < 0 || (count === 0) !== (oldest === undefined) || (count === 0) !== (bytes === 0))
        throw new Error(`counts are wrong: ${JSON.stringify({ revisions, deleted })}`);
    }
  }
}

const shortest = (a: KeptPolicy, b: KeptPolicy): KeptPolicy => {
  const long = longest(a, b);
  return {
    ...long,
    keepDeletedFor: Math.min(a.keepDeletedFor, b.keepDeletedFor),
    keepRevisionsFor: Math.min(a.keepRevisionsFor, b.keepRevisionsFor),
  };
};

const specOf = ({ content }: KeptEntry): number | undefined =>
  (JSON.parse(Buffer.from(content.bytes).toString()) as { readonly spec: { readonly n?: number } }).spec.n;

test('an embedded store keeps what its policies promise, whatever stops, trims, jumps or is purged', async () => {
  await explore((random) => new StoreExplorer(random), { schedules: 40, steps: 120 });
}, 120_000);
