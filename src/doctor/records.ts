import { existsSync } from 'node:fs';
import { type StorageOptions, embeddedDirectory } from '../server/options/storage-options.js';
import { checkDirectory } from '../storage/embedded/directory.js';
import type { DamagedRecord, Step, Verification } from '../storage/embedded/verify.js';
import type { Clock } from '../util/clock.js';
import { failed, type Finding, ok, skipped, warning } from './finding.js';
import { isInUse } from '../storage/directory-lock.js';
import { withEmbeddedStore } from './store.js';

const CHECK = 'records';
/** The maximum number of objects that a finding names. */
const NAMED = 20;

/** Reads the whole store that the flags name, and reports which objects in it are damaged. */
export async function checkRecords(options: StorageOptions, clock: Clock, step: Step): Promise<Finding> {
  if (options.storageBackend === 'mongodb') return skipped(CHECK, 'MongoDB verifies the checksums of its data itself');
  const directory = embeddedDirectory(options);
  if (!existsSync(directory)) return ok(CHECK, `${directory} will be created at the first start`);
  try {
    checkDirectory(directory);
    return await withEmbeddedStore(options, clock, (backend) => findingOf(backend.verify(step)));
  } catch (error) {
    if (isInUse(error))
      return skipped(CHECK, `${directory} is in use by a running server: stop it, or set --data-dir to a copy`);
    return failed(CHECK, error, 'restore the directory from a backup, or choose another one');
  }
}

function findingOf({ objects, records, bytes, damaged, examples, damagedHistory }: Verification): Finding {
  const read = `${records} records of ${objects} objects, ${(bytes / 2 ** 20).toFixed(1)} MiB`;
  if (damaged > 0) {
    const named = examples.slice(0, NAMED).map(nameOf).join('; ');
    const rest = damaged > NAMED ? `; and ${damaged - NAMED} more` : '';
    return failed(
      CHECK,
      `${damaged} of ${objects} objects cannot be read: ${named}${rest}`,
      'delete and recreate them, or restore the directory from a backup',
    );
  }
  if (damagedHistory > 0)
    return warning(CHECK, `${read}; ${damagedHistory} damaged records in the history, which no object needs`);
  return ok(CHECK, read);
}

const nameOf = ({ resource, key, revision, why }: DamagedRecord): string =>
  `${resource} ${key} (revision ${revision}: ${why})`;
