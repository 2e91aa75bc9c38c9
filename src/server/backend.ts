import { join, resolve } from 'node:path';
import type { Backend } from '../storage/interfaces.js';
import type { Clock } from '../util/clock.js';
import { mongodbUri, type StorageOptions } from './storage-options.js';

/** The store that the flags ask for, not opened yet. The driver of the other one is not even loaded. */
export async function makeBackend(options: StorageOptions, clock: Clock, environment = process.env): Promise<Backend> {
  const common = { clock, historyMillis: options.historyWindow };
  if (options.storageBackend !== 'mongodb') {
    const { EmbeddedBackend } = await import('../storage/embedded/backend.js');
    return new EmbeddedBackend({ directory: join(resolve(options.dataDir), 'store'), ...common });
  }
  const uri = mongodbUri(options, environment);
  const { MongoBackend } = await import('../storage/mongodb/backend.js');
  return new MongoBackend({ uri, database: options.mongodbDatabase, ...common });
}
