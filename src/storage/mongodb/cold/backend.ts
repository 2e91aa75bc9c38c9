import type { Clock } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Backend, LocalStates, StoreHealth } from '../../interfaces.js';
import { layered } from '../../layered.js';
import type { MongoBackend } from '../backend.js';
import { changesAfter } from './changes.js';
import type { ColdFile } from './file.js';
import { ColdType } from './type.js';

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
