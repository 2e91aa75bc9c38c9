import type { Clock } from '../../util/clock.js';
import type { Undecodable } from '../errors.js';
import type { Backend } from '../interfaces.js';
import type { Budget } from './budget.js';
import type { History } from './watch/history.js';
import type { LoadWaits } from './load/waits.js';
import type { Warmth } from './tree/warmth.js';
import type { NewestRevision, RevisionWaits } from './waits.js';

/** What the caches of all types share. */
export interface Shared {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly history: History;
  readonly warmth: Warmth;
  readonly waits: RevisionWaits;
  readonly newest: NewestRevision;
  readonly loadWaits: LoadWaits;
  readonly maxBacklog: number;
  readonly maxWatchers: number;
  readonly maxPending: number;
  /** Whether exact lists may be answered from memory. */
  readonly snapshots: boolean;
  /** Identity of the log; undefined where nothing tells logs apart. */
  readonly logId: string | undefined;
  readonly undecodable: ((resource: string, objects: number, one: Undecodable) => void) | undefined;
}
