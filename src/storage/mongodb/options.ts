import type { Clock } from '../../util/clock.js';
import type { Revision } from '../interfaces.js';
import type { StoreOutage } from '../outage.js';
import type { MongoObserver } from './observer.js';
import type { OwnCluster } from './owner-cluster.js';

export interface MongoOptions {
  /** The connection string of the replica set, with credentials and TLS options. */
  readonly uri: string;
  /** The database, used by this store only. */
  readonly database: string;
  readonly clock?: Clock;
  /** How long past states and the log are kept, in milliseconds. */
  readonly historyMillis?: number;
  readonly maxObjectBytes?: number;
  /** How long an operation waits for a primary, in milliseconds. */
  readonly selectMillis?: number;
  /** How long a write is retried while MongoDB does not respond, in milliseconds. */
  readonly writeMillis?: number;
  /** The name of this store's log; other logs of the same database order other types. The main log by default. */
  readonly log?: string;
  /** The types whose log is not the main one; the same for all logs of a database. */
  readonly overrides?: ReadonlyMap<string, string>;
  /** The cluster that the server belongs to. Absent: not checked. */
  readonly cluster?: OwnCluster | undefined;
  /** Objects up to this revision may be newer than the log, which then continues above them; 0: none may. */
  readonly continueAbove?: Revision;
  readonly observer?: MongoObserver;
  /** Tells whether MongoDB is away, so that writes that were not sent yet can be refused. */
  readonly outage?: Pick<StoreOutage, 'age'> | undefined;
  /** True if commands are traced as spans of the requests that send them. */
  readonly traced?: boolean;
}
