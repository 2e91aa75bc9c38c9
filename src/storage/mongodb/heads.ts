import type { LogEvent, Revision, StoredObject } from '../interfaces.js';

/** What is known of a key: its state as of some revision. */
export interface Head {
  /** The last change known. */
  readonly revision: Revision;
  /** Undefined: there is no such object. */
  readonly object: StoredObject | undefined;
}

const ENTRY_BYTES = 200;

/** The states of the keys written or read lately, kept current by the log; least recently used ones are forgotten. */
export class Heads {
  private readonly heads = new Map<string, Head>();
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  get(id: string): Head | undefined {
    const head = this.heads.get(id);
    if (head !== undefined) {
      this.heads.delete(id);
      this.heads.set(id, head);
    }
    return head;
  }

  apply(event: LogEvent): void {
    const object = event.type === 'DELETED' ? undefined : event.object;
    this.put(headId(event.resource, event.key), { revision: event.revision, object });
  }

  /** Takes what was read from the store, unless something newer is known. */
  learn(id: string, object: StoredObject | undefined): void {
    const known = this.heads.get(id);
    if (object === undefined) this.put(id, { revision: known?.revision ?? 0, object });
    else this.put(id, { revision: object.revision, object });
  }

  forget(id: string): void {
    const head = this.heads.get(id);
    if (head === undefined) return;
    this.heads.delete(id);
    this.bytes -= size(id, head);
  }

  clear(): void {
    this.heads.clear();
    this.bytes = 0;
  }

  private put(id: string, head: Head): void {
    const known = this.heads.get(id);
    if (known !== undefined && known.revision > head.revision) return;
    this.forget(id);
    this.heads.set(id, head);
    this.bytes += size(id, head);
    for (const oldest of this.heads.keys()) {
      if (this.bytes <= this.maxBytes) break;
      this.forget(oldest);
    }
  }
}

export function headId(resource: string, key: string): string {
  return `${resource}\0${key}`;
}

function size(id: string, head: Head): number {
  return ENTRY_BYTES + 2 * id.length + (head.object?.bytes.length ?? 0);
}
