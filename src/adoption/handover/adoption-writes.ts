import { type AdoptedDefinitions, newGroupMovingError } from './adopted-definitions.js';
import type { GroupResource } from '../../apimachinery/meta/meta.js';
import { StorageError } from '../../storage/errors.js';
import type { StoreBackend } from '../../storage/interfaces.js';

/** Guards the writes to types that Annex serves: when a group returns to the cluster, no write that began before is committed afterwards. */
export class AdoptionWrites {
  private readonly inFlight = new Map<string, number>();

  constructor(private readonly adopted: Pick<AdoptedDefinitions, 'takesWrites' | 'tookWritesAt'>) {}

  through(backend: StoreBackend, type: GroupResource): StoreBackend {
    const name = `${type.resource}.${type.group}`;
    return {
      get: (resource, key) => backend.get(resource, key),
      // Nothing else runs between the check of the gate and the count.
      write: async (request) => {
        if (!this.adopted.takesWrites(type)) throw newGroupMovingError(type.group);
        this.add(name, 1);
        try {
          const result = await backend.write(request);
          // If this process stalled, the replica that closed the gate has not waited for it.
          if (result.outcome === 'committed' && !this.adopted.tookWritesAt(type, result.object.revision))
            throw new StorageError('unknown-outcome', `${type.group} was moved in the meantime`);
          return result;
        } finally {
          this.add(name, -1);
        }
      },
    };
  }

  /** Reports whether all writes to a type have ended; none begins while the type takes none. `name` is the name of its definition. */
  isDrained(name: string): boolean {
    return !this.inFlight.has(name);
  }

  private add(name: string, change: number): void {
    const count = (this.inFlight.get(name) ?? 0) + change;
    if (count === 0) this.inFlight.delete(name);
    else this.inFlight.set(name, count);
  }
}
