import { join, resolve } from 'node:path';
import type { MongoObserver } from '../../storage/mongodb/backend.js';
import type { LogSet } from '../../storage/routed-backend.js';
import type { Clock } from '../../util/clock.js';
import { redact } from '../../storage/mongodb/redact.js';
import type { Options } from '../options/options.js';
import { logOverrides, mongodbUri, type StorageOptions } from '../options/storage-options.js';

/** Takes the credentials of the store out of a text. */
export function storeRedactor(options: StorageOptions, environment = process.env): (text: string) => string {
  if (options.storageBackend !== 'mongodb') return (text) => text;
  const uri = mongodbUri(options, environment);
  return (text) => redact(text, uri);
}

/** The logs of the store that the flags ask for, not opened yet. The driver of the other store is not even loaded. */
export async function makeLogs(
  options: StorageOptions & Pick<Options, 'tracingConfigFile'>,
  clock: Clock,
  observer: MongoObserver,
  environment = process.env,
): Promise<LogSet> {
  const common = { clock, historyMillis: options.historyWindow };
  if (options.storageBackend !== 'mongodb') {
    const { EmbeddedBackend } = await import('../../storage/embedded/backend.js');
    const main = new EmbeddedBackend({ directory: join(resolve(options.dataDir), 'store'), ...common });
    return { main, others: new Map(), overrides: new Map() };
  }
  const uri = mongodbUri(options, environment);
  const { MongoBackend } = await import('../../storage/mongodb/backend.js');
  const overrides = logOverrides(options.mongodbLogOverrides);
  const traced = options.tracingConfigFile !== '';
  const make = (log: string) =>
    new MongoBackend({ uri, database: options.mongodbDatabase, log, overrides, observer, traced, ...common });
  const others = new Map([...new Set(overrides.values())].map((log) => [log, make(log)]));
  return { main: make(''), others, overrides };
}
