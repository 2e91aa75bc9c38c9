import type { Revision } from '../interfaces.js';
import type { BackupHeader, BackupObject } from './format.js';

/** A store as it is at one revision. */
export interface BackupSource {
  readonly header: BackupHeader;
  /** The objects of all types, in the order of the header's types and then of their keys. The records are valid until the next batch. */
  objects(): AsyncIterable<readonly BackupObject[]>;
  close(): Promise<void>;
}

/** An empty store that a backup is restored into. A start refuses it from `begin` until `finish` has resolved. */
export interface RestoreTarget {
  /** Throws if the store is not empty. Removes what an interrupted restore has written. */
  begin(header: BackupHeader): Promise<void>;
  /** Stores objects under their own revisions. */
  put(objects: readonly BackupObject[]): Promise<void>;
  /** Makes the store one that can be started, and that continues above a revision. */
  finish(above: Revision): Promise<void>;
  close(): Promise<void>;
}
