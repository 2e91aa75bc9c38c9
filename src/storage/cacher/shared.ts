import type { Clock } from '../../util/clock.js';
import type { Undecodable } from '../errors.js';
import type { Backend } from '../interfaces.js';
import type { StoreOutage } from '../outage.js';
import type { Budget } from './budget.js';
import type { Deliveries } from './watch/deliveries.js';
import type { History } from './watch/history.js';
import type { WorkingSet } from './tree/working-set.js';
import type { LoadWaits, NewestRevision, RevisionWaits } from './waits.js';

/** The part of a store that its caches need. */
export type CachedBackend = Pick<
  Backend,
  'list' | 'currentRevision' | 'revisionNow' | 'compactedRevision' | 'events' | 'localStates' | 'knownRevisions'
>;

/** Shared by the caches of all types. */
export interface Shared {
  readonly backend: CachedBackend;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly history: History;
  readonly deliveries: Deliveries;
  readonly warmth: WorkingSet;
  readonly waits: RevisionWaits;
  readonly newest: NewestRevision;
  readonly loadWaits: LoadWaits;
  /** Limits how long reads wait for the store. Absent if the store is local. */
  readonly outage: Pick<StoreOutage, 'age' | 'within'> | undefined;
  readonly maxBacklog: number;
  readonly maxWatchers: number;
  readonly maxPending: number;
  /** True if lists of an exact revision may be answered from memory. */
  readonly snapshots: boolean;
  /** Returns the identity of the log, once the cacher has started. Absent if logs have no identity. */
  readonly logId: (() => string | undefined) | undefined;
  readonly renewLogId: (() => Promise<void>) | undefined;
  readonly undecodable: ((resource: string, objects: number, one: Undecodable) => void) | undefined;
}
