import { StorageError } from '../../errors.js';
import type { LogEvent, StoredObject } from '../../interfaces.js';
import { copyOf } from '../../../util/bytes.js';
import type { MongoBackend } from '../backend.js';
import type { Checkpoint } from './records.js';
import type { Changes } from './type.js';

const MAX_EVENTS = 50_000;
const MAX_BYTES = 64 << 20;

type Log = Pick<MongoBackend, 'batchAt' | 'currentRevision' | 'events'>;

/**
 * Returns the changes of a type after a checkpoint, or undefined if the log is another one by now, does not reach back that far, or has
 * more changes than are worth reading.
 */
export async function changesAfter(
  log: Log,
  resource: string,
  { revision, batch }: Checkpoint,
): Promise<Changes | undefined> {
  const head = await log.currentRevision();
  if (head < revision || (await log.batchAt(revision)) !== batch) return undefined;
  if (head === revision) return { states: new Map(), revision };
  const enough = new AbortController();
  const reading = new Reading(resource, revision);
  try {
    for await (const events of log.events(revision, enough.signal)) {
      if (!reading.take(events)) return undefined;
      if (reading.revision >= head) return reading;
    }
    return undefined;
  } catch (error) {
    if (error instanceof StorageError && (error.code === 'compacted' || error.code === 'too-large')) return undefined;
    throw error;
  } finally {
    enough.abort();
  }
}

class Reading implements Changes {
  readonly states = new Map<string, StoredObject | undefined>();
  private events = 0;
  private bytes = 0;

  constructor(
    private readonly resource: string,
    public revision: number,
  ) {}

  /** Takes events; false if there is a gap, or more events than are worth reading. */
  take(events: readonly LogEvent[]): boolean {
    for (const { revision, resource, key, type, object } of events) {
      if (revision !== this.revision + 1) return false;
      this.revision = revision;
      if (resource !== this.resource) continue;
      const { flags, unreadable, bytes } = object;
      this.bytes += bytes.length;
      if (++this.events > MAX_EVENTS || this.bytes > MAX_BYTES) return false;
      this.states.set(key, type === 'DELETED' ? undefined : { key, revision, flags, unreadable, bytes: copyOf(bytes) });
    }
    return true;
  }
}
