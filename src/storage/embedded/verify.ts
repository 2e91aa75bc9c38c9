import type { Revision } from '../interfaces.js';
import { isIntact, readHeader } from './entry.js';
import type { Environment } from './environment.js';

/** An object whose state cannot be read. */
export interface DamagedRecord {
  readonly resource: string;
  readonly key: string;
  readonly revision: Revision;
  readonly why: 'damaged' | 'missing' | 'of another object';
}

export interface Verification {
  /** The number of objects. */
  readonly objects: number;
  /** The number of records that were read: the objects' states and the history. */
  readonly records: number;
  readonly bytes: number;
  /** The number of objects whose record cannot be used, and the first of them. */
  readonly damaged: number;
  readonly examples: readonly DamagedRecord[];
  /** The number of damaged records that only the history has: no object needs them. */
  readonly damagedHistory: number;
}

const MAX_EXAMPLES = 100;

/** Called with the revision up to which records were read, and the newest revision. Must return quickly. */
export type Step = (revision: Revision, newest: Revision) => void;

/** Verifies the checksum of every record, and that each object has its own record. Blocks until it is done, so it is not for a server under load. */
export function verifyRecords(environment: Environment, step: Step): Verification {
  environment.refresh();
  const newest = environment.lastLogRevision();
  const broken = new Set<Revision>();
  let records = 0;
  let bytes = 0;
  for (const { revision, entry } of environment.entriesAfter(0)) {
    step(revision, newest);
    records++;
    bytes += entry.length;
    if (!isIntact(entry)) broken.add(revision);
  }
  const examples: DamagedRecord[] = [];
  let objects = 0;
  let damaged = 0;
  let damagedHistory = broken.size;
  for (const { resource, key, revision } of environment.allObjects()) {
    objects++;
    if (broken.has(revision)) damagedHistory--;
    const why = broken.has(revision) ? 'damaged' : misplaced(environment, resource, key, revision);
    if (why === undefined) continue;
    damaged++;
    if (examples.length < MAX_EXAMPLES) examples.push({ resource, key, revision, why });
  }
  return { objects, records, bytes, damaged, examples, damagedHistory };
}

function misplaced(
  environment: Environment,
  resource: string,
  key: string,
  revision: Revision,
): DamagedRecord['why'] | undefined {
  const entry = environment.viewOfEntry(revision);
  if (entry === undefined) return 'missing';
  const header = readHeader(entry, revision);
  return header.resource === resource && header.key === key ? undefined : 'of another object';
}
