import { append } from '../../../util/append.js';
import type { StoredObject } from '../../interfaces.js';
import { yieldNow } from '../../../scheduling/slicer.js';
import { statesIn, statesOf, type LogPlace } from '../documents.js';
import type { LogFollower } from '../following/follower.js';
import type { Backlog } from '../following/backlog.js';

/** The maximum number of concurrent reads from MongoDB for one type. Requests that arrive later share the next read. */
const MAX_READS_IN_FLIGHT = 2;
/** The maximum number of objects in one read. */
const OBJECTS = 64;

export interface CurrentStatesOptions {
  readonly place: LogPlace;
  readonly follower: Pick<LogFollower, 'catchUp'>;
  readonly backlog: Backlog;
}

/** The current states of objects: from the log where it is ahead of the projection. */
export class CurrentStates {
  constructor(private readonly options: CurrentStatesOptions) {}

  /** Returns the objects that exist, by key. */
  async read(resource: string, keys: readonly string[]): Promise<Map<string, StoredObject>> {
    const { place, follower, backlog } = this.options;
    // After this, everything acknowledged before is in the backlog or in the projection.
    await follower.catchUp();
    const states = new Map<string, StoredObject>();
    const projected: string[] = [];
    for (const key of keys) {
      const ahead = backlog.state(resource, key);
      if (ahead === undefined) projected.push(key);
      else if (ahead.object !== undefined) states.set(key, ahead.object);
    }
    if (projected.length === 0) return states;
    const found = await statesIn(statesOf(place.db, resource), projected, place.latest.options);
    for (const [key, object] of found) states.set(key, object);
    return states;
  }
}

interface Waiter {
  readonly resolve: (found: StoredObject | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The pending reads of one type. */
interface PendingGets {
  readonly keys: Map<string, Waiter[]>;
  readsInFlight: number;
}

/**
 * Reads single objects; concurrent requests share a read. A read starts only after all its objects were requested, so that every answer
 * includes what was acknowledged before the request.
 */
export class Reader {
  private readonly types = new Map<string, PendingGets>();

  constructor(private readonly states: CurrentStates) {}

  get(resource: string, key: string): Promise<StoredObject | undefined> {
    return new Promise((resolve, reject) => {
      let waiting = this.types.get(resource);
      if (waiting === undefined) this.types.set(resource, (waiting = { keys: new Map(), readsInFlight: 0 }));
      append(waiting.keys, key, { resolve, reject });
      if (waiting.readsInFlight >= MAX_READS_IN_FLIGHT) return;
      waiting.readsInFlight++;
      void this.readPending(resource, waiting);
    });
  }

  private async readPending(resource: string, waiting: PendingGets): Promise<void> {
    // Requests of the same turn of the event loop share a read.
    await yieldNow();
    while (waiting.keys.size > 0) {
      const taken = takeSome(waiting.keys);
      try {
        const found = await this.states.read(resource, [...taken.keys()]);
        for (const [key, askers] of taken) for (const { resolve } of askers) resolve(found.get(key));
      } catch (error) {
        for (const askers of taken.values()) for (const { reject } of askers) reject(error);
      }
    }
    waiting.readsInFlight--;
    if (waiting.readsInFlight === 0) this.types.delete(resource);
  }
}

function takeSome(keys: Map<string, Waiter[]>): Map<string, Waiter[]> {
  const taken = new Map<string, Waiter[]>();
  for (const [key, askers] of keys) {
    if (taken.size === OBJECTS) break;
    taken.set(key, askers);
    keys.delete(key);
  }
  return taken;
}
