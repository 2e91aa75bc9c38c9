import { resolve } from 'node:path';
import type { Backend } from '../../storage/interfaces.js';
import type { MongoBackend } from '../../storage/mongodb/backend.js';
import type { MongoObserver } from '../../storage/mongodb/observer.js';
import type { EmbeddedOptions } from '../../storage/embedded/backend.js';
import type { StoreOutage } from '../../storage/outage.js';
import type { LogSet } from '../../storage/routed-backend.js';
import type { Clock } from '../../util/clock.js';
import { redact } from '../../storage/mongodb/connection/redact.js';
import type { Options } from '../options/options.js';
import {
  logOverrides,
  mongodbUri,
  type CacheDirOptions,
  type StorageOptions,
  embeddedDirectory,
} from '../options/storage-options.js';

/** Returns a function that redacts the credentials of the store in a text. */
export function storeRedactor(options: StorageOptions): (text: string) => string {
  if (options.storageBackend !== 'mongodb') return (text) => text;
  const uri = mongodbUri(options, process.env);
  return (text) => redact(text, uri);
}

/** Returns the layer on top of each log: with --cache-dir, a file for objects that do not fit in memory. */
async function fileOver(
  { cacheDir, cacheDirLimit }: CacheDirOptions,
  clock: Clock,
): Promise<(backend: MongoBackend) => Backend> {
  if (cacheDir === '') return (backend) => backend;
  const { ColdFile } = await import('../../storage/mongodb/cold/file.js');
  const { coldBackend } = await import('../../storage/mongodb/cold/backend.js');
  const file = new ColdFile({ directory: resolve(cacheDir), clock, limit: cacheDirLimit });
  return (backend) => coldBackend({ backend, file, clock });
}

/**
 * Returns the logs of the store that the flags select, not yet opened. The driver of the other store is not even loaded. `clusterUid`: the
 * identity of the cluster that a database may belong to; not checked if it is empty.
 */
export async function makeLogs(
  options: StorageOptions & CacheDirOptions & Pick<Options, 'tracingConfigFile' | 'deletedObjectsLimit'>,
  clock: Clock,
  observer: MongoObserver,
  clusterUid: string,
  { outage, lockWait }: { readonly outage?: StoreOutage | undefined; readonly lockWait?: EmbeddedOptions['lockWait'] },
): Promise<LogSet> {
  const common = { clock, historyMillis: options.historyWindow };
  if (options.storageBackend !== 'mongodb') {
    const { EmbeddedBackend } = await import('../../storage/embedded/backend.js');
    const main = new EmbeddedBackend({
      directory: embeddedDirectory(options),
      ...common,
      deletedBytes: options.deletedObjectsLimit,
      ...(lockWait && { lockWait }),
    });
    return { main, others: new Map(), overrides: new Map() };
  }
  const uri = mongodbUri(options, process.env);
  const { MongoBackend } = await import('../../storage/mongodb/backend.js');
  const overrides = logOverrides(options.mongodbLogOverrides);
  const traced = options.tracingConfigFile !== '';
  const cluster = clusterUid === '' ? undefined : { uid: clusterUid, former: options.mongodbFormerCluster };
  const continueAbove = options.mongodbContinueAbove;
  const over = await fileOver(options, clock);
  const shared = {
    uri,
    database: options.mongodbDatabase,
    overrides,
    cluster,
    continueAbove,
    observer,
    traced,
    outage,
  };
  const make = (log: string) => over(new MongoBackend({ ...shared, log, ...common }));
  const others = new Map([...new Set(overrides.values())].map((log) => [log, make(log)]));
  return { main: make(''), others, overrides };
}
