import { readFileSync } from 'node:fs';
import { messageOf } from '../util/error-message.js';
import { duration, flag, FlagError, oneOf, text } from './flags.js';

const GROUP = 'Storage flags:';
const MINUTE = 60_000;
/** Where the URI may stand, so that its password is seen by nobody who lists processes. */
const URI_VARIABLE = 'ANNEX_MONGODB_URI';

/** Flags that say where objects are kept. */
export const STORAGE_FLAGS = {
  storageBackend: flag(
    GROUP,
    'storage-backend',
    oneOf('embedded', 'mongodb'),
    'embedded',
    'Where objects are kept: embedded (in --data-dir) or mongodb (a replica set, shared by any number of servers).',
  ),
  mongodbUri: flag(
    GROUP,
    'mongodb-uri',
    text,
    '',
    `Connection string of the MongoDB replica set, with credentials and TLS options. Better given in --mongodb-uri-file or in the environment variable ${URI_VARIABLE} where it has a password.`,
  ),
  mongodbUriFile: flag(
    GROUP,
    'mongodb-uri-file',
    text,
    '',
    'File with the connection string of the MongoDB replica set, instead of --mongodb-uri.',
  ),
  mongodbDatabase: flag(
    GROUP,
    'mongodb-database',
    text,
    'annex',
    'MongoDB database for the objects, used for nothing else.',
  ),
  historyWindow: flag(
    GROUP,
    'history-window',
    duration,
    5 * MINUTE,
    'How long past revisions can be read and watches can resume from them.',
  ),
} as const;

export interface StorageOptions {
  readonly dataDir: string;
  readonly storageBackend: string;
  readonly mongodbUri: string;
  readonly mongodbUriFile: string;
  readonly mongodbDatabase: string;
  readonly historyWindow: number;
  readonly given: ReadonlySet<string>;
}

/** Throws FlagError for flags that do not go together. */
export function validateStorageOptions(options: StorageOptions): void {
  if (options.storageBackend !== 'mongodb') {
    const useless = ['mongodb-uri', 'mongodb-uri-file', 'mongodb-database'].find((name) => options.given.has(name));
    if (useless !== undefined) throw new FlagError(`--${useless} needs --storage-backend=mongodb`);
    return;
  }
  if (options.mongodbUri !== '' && options.mongodbUriFile !== '') {
    throw new FlagError('--mongodb-uri and --mongodb-uri-file cannot be given together');
  }
  if (!/^[^/\\. "$*<>:|?\0]{1,63}$/u.test(options.mongodbDatabase)) {
    throw new FlagError(
      `invalid argument ${JSON.stringify(options.mongodbDatabase)} for --mongodb-database: must be a name of a MongoDB database`,
    );
  }
}

/** From whichever place has it. Throws FlagError where none does. */
export function mongodbUri(options: StorageOptions, environment: NodeJS.ProcessEnv): string {
  if (options.mongodbUri !== '') return options.mongodbUri;
  if (options.mongodbUriFile !== '') {
    let content: string;
    try {
      content = readFileSync(options.mongodbUriFile, 'utf8').trim();
    } catch (error) {
      throw new FlagError(`--mongodb-uri-file cannot be read: ${messageOf(error)}`);
    }
    if (content === '') throw new FlagError(`--mongodb-uri-file: ${options.mongodbUriFile} is empty`);
    return content;
  }
  const uri = environment[URI_VARIABLE] ?? '';
  if (uri === '') {
    throw new FlagError(
      `--storage-backend=mongodb needs --mongodb-uri, --mongodb-uri-file or the environment variable ${URI_VARIABLE}`,
    );
  }
  return uri;
}
