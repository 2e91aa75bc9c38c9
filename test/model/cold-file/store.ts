import { encodeObject } from '../../../src/storage/encode.js';
import { compacted, StorageError } from '../../../src/storage/errors.js';
import type {
  LocalStates,
  LocalStateSource,
  EventStream,
  LogEvent,
  Revision,
  StoredList,
  StoredObject,
} from '../../../src/storage/interfaces.js';
import type { CachedBackend } from '../../../src/storage/cacher/shared.js';
import { widget } from '../../storage/fixtures.js';

export const RESOURCE = 'widgets.example.com';
const OTHER = 'gadgets.example.com';

interface Written {
  readonly event: LogEvent;
  readonly batch: string;
}

/** A store as replicas see it: one log, which is trimmed, raised, and restored. Its answers are correct, or errors. */
export class ModelStore implements CachedBackend {
  readonly localStates: LocalStateSource = { of: () => this.file };
  readonly knownRevisions = undefined;
  /** The file of the running process. */
  file: LocalStates | undefined;
  /** True if every request fails. */
  down = false;
  /** How often the whole type was read. */
  loads = 0;
  private log: Written[] = [];
  /** Revisions up to this one have no events: none happened, or they are not delivered. */
  private oldest: Revision = 1;
  private newest: Revision = 1;
  /** Batches below this revision are gone, except for the newest. */
  private kept: Revision = 1;
  private history = 0;
  private readonly gaps = new Map<Revision, string>();
  private waiting = new Set<() => void>();
  private bases = new Map<Revision, ReadonlyMap<string, StoredObject>>([[1, new Map()]]);

  get revision(): Revision {
    return this.newest;
  }

  write(key: string, spec: Record<string, string> | undefined): void {
    const before = this.stateAt(this.newest).get(key);
    if (spec === undefined && before === undefined) return;
    const revision = this.newest + 1;
    const object = spec === undefined ? before : this.stored(key, revision, spec);
    if (object === undefined) return;
    const type = spec === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
    this.append({ revision, resource: RESOURCE, key, type, object: { ...object, revision }, previous: before });
  }

  /** Writes an object of another type of the log. */
  writeOther(): void {
    const revision = this.newest + 1;
    this.append({ revision, resource: OTHER, key: 'x', type: 'ADDED', object: this.stored('x', revision, {}) });
  }

  /** Trims the log to the latest revisions. */
  trim(leaves: number): void {
    this.oldest = Math.max(this.oldest, this.newest - leaves);
    this.kept = Math.max(this.kept, this.oldest);
    this.wake();
  }

  /** Continues above the newest revision, without delivering earlier events. A copy may replace the states. */
  raise(by: number, states = this.stateAt(this.newest)): void {
    this.newest += by;
    this.bases.set(this.newest, states);
    this.log = [];
    this.oldest = this.newest;
    this.gaps.set(this.newest, `gap/${this.history++}`);
    this.wake();
  }

  /** Replaces the current state by an earlier one. No process is running. */
  restore(revision: Revision): void {
    if (revision < this.oldest) return;
    this.log = this.log.filter(({ event }) => event.revision <= revision);
    for (const at of this.bases.keys()) if (at > revision) this.bases.delete(at);
    this.newest = revision;
    this.history++;
  }

  stateAt(revision: Revision): Map<string, StoredObject> {
    const base = Math.max(...[...this.bases.keys()].filter((at) => at <= revision));
    const states = new Map(this.bases.get(base));
    for (const { event } of this.log) {
      if (event.revision <= base || event.revision > revision || event.resource !== RESOURCE) continue;
      if (event.type === 'DELETED') states.delete(event.key);
      else states.set(event.key, event.object);
    }
    return states;
  }

  batchAt(revision: Revision): Promise<string | undefined> {
    if (this.down) return Promise.reject(unavailable());
    if (revision <= this.kept && revision !== this.newest) return Promise.resolve(undefined);
    const written = this.log.find(({ event }) => event.revision === revision);
    return Promise.resolve(written?.batch ?? this.gaps.get(revision));
  }

  currentRevision(): Promise<Revision> {
    return this.down ? Promise.reject(unavailable()) : Promise.resolve(this.newest);
  }

  revisionNow(): undefined {
    return undefined;
  }

  compactedRevision(): Revision {
    return this.oldest;
  }

  walk(visit: (object: StoredObject) => void): Promise<Revision> {
    if (this.down) return Promise.reject(unavailable());
    this.loads++;
    for (const [, object] of [...this.stateAt(this.newest)].sort(([a], [b]) => (a < b ? -1 : 1))) visit(object);
    return Promise.resolve(this.newest);
  }

  list(): Promise<StoredList> {
    const items = [...this.stateAt(this.newest)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    return this.down
      ? Promise.reject(unavailable())
      : Promise.resolve({ items, revision: this.newest, more: false, remaining: 0 });
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    if (after < this.oldest) throw compacted(after, this.oldest);
    return this.read(after, signal);
  }

  private async *read(after: Revision, signal: AbortSignal): AsyncGenerator<readonly LogEvent[], void, undefined> {
    for (let from = after; !signal.aborted;) {
      if (from < this.oldest) throw compacted(from, this.oldest);
      const found = this.log.filter(({ event }) => event.revision > from).slice(0, 3);
      if (this.down || found.length === 0) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            signal.removeEventListener('abort', wake);
            resolve();
          };
          this.waiting.add(wake);
          signal.addEventListener('abort', wake);
        });
        continue;
      }
      from = found.at(-1)?.event.revision ?? from;
      yield found.map(({ event }) => event);
    }
  }

  /** Makes all waiting readers check again. */
  wake(): void {
    const { waiting } = this;
    this.waiting = new Set();
    for (const wake of waiting) wake();
  }

  private append(event: LogEvent): void {
    this.newest = event.revision;
    this.log.push({ event, batch: `${this.history}/${event.revision}` });
    this.wake();
  }

  private stored(key: string, revision: Revision, spec: Record<string, string>): StoredObject {
    const { head, tail, flags } = encodeObject(widget(key, spec));
    return { key, revision, flags, bytes: Buffer.from(`${head}${revision}${tail}`) };
  }
}

function unavailable(): StorageError {
  return new StorageError('unavailable', 'nobody answers');
}
