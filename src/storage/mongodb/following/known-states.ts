import type { KnownRevision, LogEvent, Revision, StoredObject, WriteRequest } from '../../interfaces.js';
import { copyOf } from '../../object-bytes.js';

/** A state; undefined: there is no such object. */
export interface KnownState {
  readonly object: StoredObject | undefined;
}

interface Head extends KnownState {
  /** The last change known. */
  readonly revision: Revision;
}

/** Tells what the caches above know of an object. */
export type Consulted = (resource: string, key: string) => KnownRevision | undefined;

const ENTRY_BYTES = 200;

/**
 * What a replica knows of objects at the newest revision that it follows. A commit rests on it, as the log takes what was checked: a state
 * is known exactly, or not at all. Those written or read lately are kept, and the log keeps them current; of the others the caches above know
 * the revisions.
 */
export class KnownStates {
  private readonly heads = new Map<string, Head>();
  private bytes = 0;
  /** Every change after this revision is among the heads. */
  private horizon: Revision;
  /** Changes that came while states were read. */
  private readonly readings = new Set<Map<string, StoredObject | undefined>>();
  private cleared = 0;

  constructor(
    private readonly maxBytes: number,
    revision: Revision,
    private readonly consulted: Consulted,
  ) {
    this.horizon = revision;
  }

  /** The state that a write finds, as far as it is known. */
  before({ resource, key, expected, previous }: WriteRequest): KnownState | undefined {
    const id = headId(resource, key);
    const head = this.heads.get(id);
    if (head !== undefined) {
      this.heads.delete(id);
      this.heads.set(id, head);
      return head;
    }
    const known = this.consulted(resource, key);
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

  /** Takes what is read, by identifier; where the log tells of a change meanwhile, that is the result. */
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

  /** Nothing counts that was known before a revision. */
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
