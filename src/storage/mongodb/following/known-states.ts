import type { LogEvent, Revision, RevisionLookup, StoredObject, WriteRequest } from '../../interfaces.js';
import { copyOf } from '../../../util/bytes.js';

/** A known state; `object` is undefined if the object does not exist. */
export interface KnownState {
  readonly object: StoredObject | undefined;
}

interface Head extends KnownState {
  /** The revision of the last known change. */
  readonly revision: Revision;
}

const ENTRY_BYTES = 200;

/**
 * The states of objects that a replica knows at the newest revision that it follows. Commits depend on them, because the log accepts writes
 * that were checked against them: a state is known exactly, or not at all. States that were written or read recently are kept, and the log
 * keeps them current. For the others, the caches above know the revisions.
 */
export class KnownStates {
  private readonly heads = new Map<string, Head>();
  private bytes = 0;
  /** Every change after this revision is in `heads`. */
  private horizon: Revision;
  /** Changes that arrived while states were being read. */
  private readonly readings = new Set<Map<string, StoredObject | undefined>>();
  private cleared = 0;

  constructor(
    private readonly maxBytes: number,
    revision: Revision,
    private readonly lookUpRevision: RevisionLookup,
  ) {
    this.horizon = revision;
  }

  /** Returns the state that a write is checked against, if it is known. */
  before({ resource, key, expected, previous }: WriteRequest): KnownState | undefined {
    const id = headId(resource, key);
    const head = this.heads.get(id);
    if (head !== undefined) {
      this.heads.delete(id);
      this.heads.set(id, head);
      return head;
    }
    const known = this.lookUpRevision(resource, key);
    if (known === undefined || known.asOf < this.horizon) return undefined;
    if (known.revision === 0) return { object: undefined };
    if (known.revision !== expected || previous?.revision !== expected || previous.bytes.length === 0) return undefined;
    const { revision, bytes, flags } = previous;
    return { object: { key, revision, bytes: copyOf(bytes), flags } };
  }

  apply(event: LogEvent): void {
    const object = event.type === 'DELETED' ? undefined : event.object;
    const id = headId(event.resource, event.key);
    this.put(id, { revision: event.revision, object });
    for (const reading of this.readings) reading.set(id, object);
  }

  /** Takes the states that are read, by id. If the log delivers a change in the meantime, the changed state is the result. */
  async learn(
    read: () => Promise<Map<string, StoredObject | undefined>>,
  ): Promise<ReadonlyMap<string, StoredObject | undefined>> {
    const changed = new Map<string, StoredObject | undefined>();
    const { cleared } = this;
    this.readings.add(changed);
    try {
      const found = await read();
      if (this.cleared !== cleared) return await this.learn(read);
      for (const [id, object] of found) {
        const later = changed.get(id);
        const isChanged = changed.has(id) && (object?.revision ?? 0) <= (later?.revision ?? Infinity);
        if (isChanged) found.set(id, later);
        else this.put(id, { revision: object?.revision ?? 0, object });
      }
      return found;
    } finally {
      this.readings.delete(changed);
    }
  }

  /** Drops all states that were known before a revision. */
  clear(revision: Revision): void {
    this.heads.clear();
    this.bytes = 0;
    this.horizon = revision;
    this.cleared++;
  }

  private put(id: string, head: Head): void {
    const known = this.heads.get(id);
    if (known !== undefined && known.revision > head.revision) return;
    this.forget(id);
    this.heads.set(id, head);
    this.bytes += size(id, head);
    for (const [oldest, { revision }] of this.heads) {
      if (this.bytes <= this.maxBytes) break;
      this.horizon = Math.max(this.horizon, revision);
      this.forget(oldest);
    }
  }

  private forget(id: string): void {
    const head = this.heads.get(id);
    if (head === undefined) return;
    this.heads.delete(id);
    this.bytes -= size(id, head);
  }
}

export function headId(resource: string, key: string): string {
  return `${resource}\0${key}`;
}

function size(id: string, head: Head): number {
  return ENTRY_BYTES + 2 * id.length + (head.object?.bytes.length ?? 0);
}
