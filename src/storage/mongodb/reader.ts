import type { StoredObject } from '../interfaces.js';
import { yieldNow } from '../../scheduling/slicer.js';
import { readStates, type Database } from './documents.js';

/** Questions to MongoDB about one type that are under way at once. Whoever comes later is asked for with the next one, */
const QUESTIONS = 2;
/** which asks for so many objects. */
const OBJECTS = 64;

interface Asker {
  readonly resolve: (found: StoredObject | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** One type's objects that are to be read. */
interface Waiting {
  readonly keys: Map<string, Asker[]>;
  questions: number;
}

/**
 * Reads single objects; those that are wanted at the same time are read together. A question is asked only after all its
 * objects were wanted, so that every answer shows what was acknowledged before.
 */
export class Reader {
  private readonly types = new Map<string, Waiting>();

  constructor(private readonly database: Database) {}

  get(resource: string, key: string): Promise<StoredObject | undefined> {
    return new Promise((resolve, reject) => {
      let waiting = this.types.get(resource);
      if (waiting === undefined) this.types.set(resource, (waiting = { keys: new Map(), questions: 0 }));
      const asker: Asker = { resolve, reject };
      const askers = waiting.keys.get(key);
      if (askers === undefined) waiting.keys.set(key, [asker]);
      else askers.push(asker);
      if (waiting.questions >= QUESTIONS) return;
      waiting.questions++;
      void this.ask(resource, waiting);
    });
  }

  private async ask(resource: string, waiting: Waiting): Promise<void> {
    // Those that came in with this turn of the event loop belong to one question.
    await yieldNow();
    while (waiting.keys.size > 0) {
      const taken = takeSome(waiting.keys);
      try {
        const found = await readStates(this.database, resource, [...taken.keys()]);
        for (const [key, askers] of taken) for (const { resolve } of askers) resolve(found.get(key));
      } catch (error) {
        for (const askers of taken.values()) for (const { reject } of askers) reject(error);
      }
    }
    waiting.questions--;
    if (waiting.questions === 0) this.types.delete(resource);
  }
}

function takeSome(keys: Map<string, Asker[]>): Map<string, Asker[]> {
  const taken = new Map<string, Asker[]>();
  for (const [key, askers] of keys) {
    if (taken.size === OBJECTS) break;
    taken.set(key, askers);
    keys.delete(key);
  }
  return taken;
}
