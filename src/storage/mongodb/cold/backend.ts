import type { Clock } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Backend, LocalStates, StoreHealth, LogEvent, StoredObject } from '../../interfaces.js';
import { layered } from '../../layered.js';
import type { MongoBackend } from '../backend.js';
import type { ColdFile } from './file.js';
import { ColdType, type Changes } from './type.js';
import { copyOf } from '../../../util/bytes.js';
import type { Checkpoint } from './records.js';

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

export interface ColdBackendOptions {
  readonly backend: MongoBackend;
  /** Shared by the logs of a database. */
  readonly file: ColdFile;
  readonly clock: Clock;
}

/** Returns a store in MongoDB whose caches keep what does not fit into memory in a local file of this process. */
export function coldBackend({ backend, file, clock }: ColdBackendOptions): Backend {
  const types = new Map<string, ColdType>();
  const statesOf = (resource: string): LocalStates => {
    let type = types.get(resource);
    if (type === undefined) {
      type = new ColdType(file, {
        resource,
        clock,
        walk: (visit) => backend.walk(resource, visit),
        batchAt: (revision) => backend.batchAt(revision),
        changesAfter: (checkpoint) => changesAfter(backend, resource, checkpoint),
      });
      types.set(resource, type);
    }
    return type.states;
  };
  const health: StoreHealth = {
    ...backend.health,
    writing: () => {
      const state = file.state();
      return state.ok ? backend.health.writing() : state;
    },
  };
  return layered(backend, {
    open: async () => {
      await backend.open();
      try {
        await file.open();
      } catch (error) {
        await backend.close();
        throw error;
      }
    },
    close: async () => {
      await backend.close();
      await file.close();
    },
    // A full file refuses creates and updates, because the written states would have to stay in memory. Deletions free space.
    write: (request) => {
      const { ok, reason } = file.state();
      if (!ok && request.value !== undefined) return Promise.reject(new StorageError('unavailable', reason));
      return backend.write(request);
    },
    health,
    localStates: { of: statesOf },
  });
}
