import type {
  Author,
  DeletedList,
  DeletedOptions,
  KeptContent,
  KeptEntry,
  KeptHistory,
  KeptList,
  KeptListOptions,
  KeptPolicy,
  KeptUsage,
  PolicyState,
} from '../../../src/storage/kept/interfaces.js';
import type { LogEvent } from '../../../src/storage/interfaces.js';
import {
  changePolicy,
  defaultPolicy,
  dueAt,
  dueStates,
  effectivePolicy,
  samePolicy,
} from '../../../src/storage/kept/policies.js';
import type { Clock } from '../../../src/util/clock.js';

interface Row {
  readonly entry: KeptEntry;
  /** The write that superseded the state; a deletion is superseded by itself. */
  superseded: { readonly at: number; readonly revision: number } | undefined;
}

/** The part of a store in memory that its history shares: backends that are opened one after the other have the same. */
export class KeptData {
  rows: Row[] = [];
  readonly policies = new Map<string, PolicyState>();
  readonly cuts = new Map<string, number>();
}

interface StoreState {
  readonly newest: number;
  readonly oldest: number;
  readonly kept: KeptData;
}

const OPERATIONS = { ADDED: 'Create', MODIFIED: 'Update', DELETED: 'Delete' } as const;

/** The history of a store in memory. It keeps every write until a read finds it due. */
export class MemoryKept implements KeptHistory {
  constructor(
    private readonly data: StoreState,
    private readonly clock: Clock,
    private readonly live: (resource: string, key: string) => boolean,
  ) {}

  /** Records a write. Called in the order of the revisions. */
  record({ revision, resource, key, type, object, previous }: LogEvent, author: Author | undefined): void {
    const time = this.clock.now();
    const before = previous?.revision ?? 0;
    const superseded = this.rows.findLast(({ entry }) => entry.revision === before);
    if (superseded !== undefined) superseded.superseded = { at: time, revision };
    const { bytes, flags, revision: at } = type === 'DELETED' && previous !== undefined ? previous : object;
    const content: KeptContent = { revision: at, bytes, flags };
    const operation = OPERATIONS[type];
    const entry: KeptEntry = { resource, key, revision, operation, time, author, previous: before, content };
    this.rows.push({ entry, superseded: type === 'DELETED' ? { at: time, revision } : undefined });
  }

  async list(options: KeptListOptions): Promise<KeptList> {
    this.purgeDue();
    const { resource, prefix, key, operations, after, upTo, order, limit } = options;
    const revision = upTo === 0 ? this.data.newest : Math.min(upTo, this.data.newest);
    const found = this.rows
      .filter((row) => this.isShown(row))
      .map(({ entry }) => entry)
      .filter((entry) => entry.revision > after && entry.revision <= revision)
      .filter((entry) => resource === undefined || entry.resource === resource)
      .filter((entry) => entry.key.startsWith(prefix) && (key === undefined || entry.key === key))
      .filter((entry) => operations?.includes(entry.operation) ?? true);
    if (order === 'newest first') found.reverse();
    return Promise.resolve({ entries: found.slice(0, limit), revision, more: found.length > limit });
  }

  entry(resource: string, key: string, revision: number): Promise<KeptEntry | undefined> {
    this.purgeDue();
    const found = this.of(resource).find(({ entry }) => entry.key === key && entry.revision === revision);
    return Promise.resolve(found !== undefined && this.isShown(found) ? found.entry : undefined);
  }

  content(resource: string, key: string, revision: number): Promise<KeptContent | undefined> {
    this.purgeDue();
    const found = this.of(resource).find(({ entry }) => entry.key === key && entry.content.revision === revision);
    return Promise.resolve(found?.entry.content);
  }

  deleted(resource: string, { prefix, keys, since, from, limit }: DeletedOptions): Promise<DeletedList> {
    this.purgeDue();
    const now = this.clock.now();
    const policy = effectivePolicy(this.stateOf(resource), now);
    const last = new Map<string, KeptEntry>();
    for (const { entry } of this.of(resource)) {
      if (entry.operation === 'Delete' && now < dueAt({ deletion: true, at: entry.time }, policy))
        last.set(entry.key, entry);
    }
    const found = [...last.values()]
      .filter(({ key, time }) => !this.live(resource, key) && time >= since && key.startsWith(prefix))
      .filter(({ key }) => compareKeys(key, from) >= 0 && (keys?.includes(key) ?? true))
      .sort((a, b) => compareKeys(a.key, b.key));
    const entries = found.slice(0, limit);
    return Promise.resolve({ entries, revision: this.data.newest, more: found.length > limit });
  }

  types(): Promise<readonly string[]> {
    this.purgeDue();
    return Promise.resolve([
      ...new Set(this.rows.filter((row) => this.hasLeft(row)).map(({ entry }) => entry.resource)),
    ]);
  }

  usage(resource: string): Promise<KeptUsage> {
    this.purgeDue();
    const now = this.clock.now();
    const aging = this.of(resource)
      .filter((row) => this.hasLeft(row))
      .map(agingState);
    const of = (deletion: boolean): KeptUsage['deleted'] => {
      const states = aging.filter((state) => state.deletion === deletion);
      return {
        count: states.length,
        bytes: states.reduce((sum, { bytes }) => sum + bytes, 0),
        oldest: states[0]?.at,
      };
    };
    const pending = dueStates(aging, this.stateOf(resource).policy, now).length;
    return Promise.resolve({
      revisions: of(false),
      deleted: of(true),
      pending,
      cutAt: this.data.kept.cuts.get(resource),
    });
  }

  policy(resource: string): Promise<PolicyState> {
    return Promise.resolve(this.stateOf(resource));
  }

  setPolicy(resource: string, policy: KeptPolicy | undefined): Promise<void> {
    const state = this.stateOf(resource);
    const next = policy ?? defaultPolicy(resource);
    const isDefault = policy === undefined;
    if (!samePolicy(next, state.policy) || isDefault !== state.isDefault)
      this.data.kept.policies.set(resource, changePolicy(state, next, this.clock.now(), isDefault));
    return Promise.resolve();
  }

  purge(resource: string, keys: readonly string[] | undefined): Promise<number> {
    this.purgeDue();
    const before = this.rows.length;
    this.data.kept.rows = this.rows.filter(
      ({ entry, superseded }) =>
        entry.resource !== resource || superseded === undefined || !(keys?.includes(entry.key) ?? true),
    );
    return Promise.resolve(before - this.rows.length);
  }

  private get rows(): Row[] {
    return this.data.kept.rows;
  }

  private of(resource: string): Row[] {
    return this.rows.filter(({ entry }) => entry.resource === resource);
  }

  private stateOf(resource: string): PolicyState {
    const state = this.data.kept.policies.get(resource);
    if (state === undefined) return { policy: defaultPolicy(resource), isDefault: true, earlier: undefined };
    const { earlier } = state;
    return earlier !== undefined && this.clock.now() >= earlier.until ? { ...state, earlier: undefined } : state;
  }

  /** Reports whether a state would have moved to the history: the entry that superseded it left the window. */
  private hasLeft({ superseded }: Row): boolean {
    return superseded !== undefined && superseded.revision <= this.data.oldest;
  }

  /** Of states below the window that have not left, only types that keep revisions know when they were written. */
  private isShown(row: Row): boolean {
    return (
      row.entry.revision > this.data.oldest ||
      this.hasLeft(row) ||
      effectivePolicy(this.stateOf(row.entry.resource), this.clock.now()).keepRevisionsFor > 0
    );
  }

  private purgeDue(): void {
    const now = this.clock.now();
    const gone = new Set<Row>();
    for (const resource of new Set(this.rows.map(({ entry }) => entry.resource))) {
      const policy = effectivePolicy(this.stateOf(resource), now);
      const left = this.of(resource).flatMap((row) => (this.hasLeft(row) ? [{ ...agingState(row), row }] : []));
      for (const { row, at, deletion } of dueStates(left, policy, now)) {
        gone.add(row);
        if (now < dueAt({ at, deletion }, policy)) this.data.kept.cuts.set(resource, now);
      }
    }
    if (gone.size > 0) this.data.kept.rows = this.rows.filter((row) => !gone.has(row));
  }
}

const agingState = ({ entry, superseded }: Row) => ({
  key: entry.key,
  deletion: entry.operation === 'Delete',
  at: superseded?.at ?? entry.time,
  bytes: entry.content.bytes.length,
});

/** Orders keys by their UTF-8 bytes. */
const compareKeys = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
