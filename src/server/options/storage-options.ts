import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { messageOf } from '../../util/error-message.js';
import {
  bool,
  duration,
  FlagError,
  flagsOf,
  type FlagValues,
  type GivenFlags,
  int,
  list,
  oneOf,
  text,
} from './flags.js';

const flag = flagsOf('Storage flags:');
const MINUTE = 60_000;
/** Environment variable for the URI, so that listing processes does not reveal its password. */
const URI_VARIABLE = 'ANNEX_MONGODB_URI';

const MONGODB_FLAGS = [
  'mongodb-uri',
  'mongodb-uri-file',
  'mongodb-database',
  'mongodb-log-overrides',
  'mongodb-former-cluster',
  'mongodb-continue-above',
  'cache-dir',
  'cache-dir-limit',
  'stale-reads-during-outage',
];
/** The smallest limit in bytes; a smaller one leaves nothing beyond what the file keeps free. */
const MIN_CACHE_DIR_LIMIT = 256 << 20;

/** Flags of the storage backends. */
export const STORAGE_FLAGS = {
  storageBackend: flag(
    'storage-backend',
    oneOf('embedded', 'mongodb'),
    'embedded',
    'Where objects are stored: embedded (in --data-dir) or mongodb (a replica set, shared by any number of servers).',
  ),
  mongodbUri: flag(
    'mongodb-uri',
    text,
    '',
    `Connection string of the MongoDB replica set, with credentials and TLS options. If it contains a password, prefer --mongodb-uri-file or the environment variable ${URI_VARIABLE}.`,
  ),
  mongodbUriFile: flag(
    'mongodb-uri-file',
    text,
    '',
    'File with the connection string of the MongoDB replica set, instead of --mongodb-uri.',
  ),
  mongodbDatabase: flag('mongodb-database', text, 'annex', 'MongoDB database for the objects, used for nothing else.'),
  mongodbLogOverrides: flag(
    'mongodb-log-overrides',
    list,
    [],
    'Types with separate logs in MongoDB, so that types with many writes do not delay others; each group/resource#log, e.g. wgpolicyk8s.io/policyreports#reports (/configmaps#core for the core group). The resource versions of a type come from its log. All servers of a database need the same setting; to change it, stop all of them. Objects are kept; clients have to list again.',
  ),
  mongodbFormerCluster: flag(
    'mongodb-former-cluster',
    text,
    '',
    "The cluster whose MongoDB database this server takes over because the cluster was rebuilt, or its database was restored here: the uid of that cluster's namespace kube-system, or standalone. A database belongs to the cluster that used it first; servers of another one are refused, because they would delete the objects of namespaces that they do not know. Has no effect once the database has been taken over.",
  ),
  mongodbContinueAbove: flag(
    'mongodb-continue-above',
    int(0),
    0,
    'A revision, as named by the error of a server that found its log in MongoDB older than its objects, because the log was dropped or a backup without the oplog was restored. The log then continues above this revision with the objects as they are; the writes that only the log had are lost. Has no effect on a log that has reached the revision.',
  ),
  cacheDir: flag(
    'cache-dir',
    text,
    '',
    'With MongoDB: a directory on a local disk, exclusively for this process, for a file with the objects beyond half of --cache-budget, which are otherwise held in memory. A server that is restarted on the same machine reuses the file. Encrypted types stay in memory.',
  ),
  cacheDirLimit: flag(
    'cache-dir-limit',
    int(0),
    0,
    'Maximum size of the file in --cache-dir in bytes, less than the sizeLimit of its volume; 0: limited only by the disk. While no space is left, creates and updates are refused with 503; deletions and reads continue.',
  ),
  staleReadsDuringOutage: flag(
    'stale-reads-during-outage',
    bool,
    false,
    'While MongoDB does not answer, serve gets and lists without a resourceVersion from memory, with a Warning header that says how old they are. Otherwise they get 503.',
  ),
  historyWindow: flag(
    'history-window',
    duration,
    5 * MINUTE,
    'How long past revisions remain readable and watches can resume from them.',
  ),
  deletedObjectsLimit: flag(
    'deleted-objects-limit',
    int(0),
    10 * 1024 * 1024 * 1024,
    'With the embedded store: the maximum size of all deleted objects that are kept so that they can be restored, in bytes as stored. Beyond it the oldest are purged.',
  ),
  encryptionProviderConfig: flag(
    'encryption-provider-config',
    text,
    '',
    'File with an EncryptionConfiguration, which defines the types that are encrypted in the store, and how. All servers of a store need the same configuration.',
  ),
  encryptionProviderConfigAutomaticReload: flag(
    'encryption-provider-config-automatic-reload',
    bool,
    false,
    'Reload the file of --encryption-provider-config when it changes; it is checked every minute. All KMS providers then share one health check, kms-providers.',
  ),
} as const;

type Values = FlagValues<typeof STORAGE_FLAGS>;

/** Options of the local file used with MongoDB. */
export type CacheDirOptions = Pick<Values, 'cacheDir' | 'cacheDirLimit'>;

export type EncryptionOptions = Pick<Values, 'encryptionProviderConfig' | 'encryptionProviderConfigAutomaticReload'>;

export type StorageOptions = Omit<
  Values,
  keyof CacheDirOptions | keyof EncryptionOptions | 'staleReadsDuringOutage' | 'deletedObjectsLimit'
> &
  GivenFlags & { readonly dataDir: string };

/** Returns the directory of the embedded store. */
export const embeddedDirectory = ({ dataDir }: Pick<StorageOptions, 'dataDir'>): string =>
  join(resolve(dataDir), 'store');

/** Throws FlagError for inconsistent flags. */
export function validateEncryptionOptions(options: EncryptionOptions): void {
  if (options.encryptionProviderConfig === '' && options.encryptionProviderConfigAutomaticReload) {
    throw new FlagError('--encryption-provider-config-automatic-reload must be set with --encryption-provider-config');
  }
}

/** Throws FlagError for inconsistent flags. */
export function validateStorageOptions(options: StorageOptions): void {
  if (options.storageBackend !== 'mongodb') {
    const useless = MONGODB_FLAGS.find((name) => options.given.has(name));
    if (useless !== undefined) throw new FlagError(`--${useless} requires --storage-backend=mongodb`);
    return;
  }
  if (options.given.has('deleted-objects-limit'))
    throw new FlagError('--deleted-objects-limit requires --storage-backend=embedded');
  if (options.mongodbUri !== '' && options.mongodbUriFile !== '') {
    throw new FlagError('--mongodb-uri and --mongodb-uri-file cannot be given together');
  }
  if (!/^[^/\\. "$*<>:|?\0]{1,63}$/u.test(options.mongodbDatabase)) {
    throw new FlagError(
      `invalid argument ${JSON.stringify(options.mongodbDatabase)} for --mongodb-database: must be a valid name of a MongoDB database`,
    );
  }
  logOverrides(options.mongodbLogOverrides);
}

/** Throws FlagError for inconsistent flags. */
export function validateCacheDirOptions({ cacheDir, cacheDirLimit }: CacheDirOptions): void {
  if (cacheDirLimit === 0) return;
  if (cacheDir === '') throw new FlagError('--cache-dir-limit requires --cache-dir');
  if (cacheDirLimit < MIN_CACHE_DIR_LIMIT)
    throw new FlagError(`--cache-dir-limit must be at least ${MIN_CACHE_DIR_LIMIT} (256 MiB)`);
}

/** Returns the logs of types, by the storage names of the types. Throws FlagError for an invalid text. */
export function logOverrides(texts: readonly string[]): ReadonlyMap<string, string> {
  const overrides = new Map<string, string>();
  for (const override of texts) {
    const [, group = '', resource = '', log = ''] =
      /^([a-z0-9.-]*)\/([a-z0-9-]+)#([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)$/.exec(override) ?? [];
    if (log === '') {
      throw new FlagError(
        `--mongodb-log-overrides invalid: ${JSON.stringify(override)} must be of format: group/resource#log, where log is a DNS label`,
      );
    }
    const name = group === '' ? resource : `${resource}.${group}`;
    if (overrides.has(name))
      throw new FlagError(`--mongodb-log-overrides invalid: ${group}/${resource} is given twice`);
    overrides.set(name, log);
  }
  return overrides;
}

/** Returns the MongoDB URI from whichever source has it. Throws FlagError if none does. */
export function mongodbUri(options: StorageOptions, environment: NodeJS.ProcessEnv): string {
  if (options.mongodbUri !== '') return options.mongodbUri;
  if (options.mongodbUriFile !== '') {
    // The message of a failure has the path.
    if (/^\s*mongodb(\+srv)?:/i.test(options.mongodbUriFile))
      throw new FlagError('--mongodb-uri-file invalid: takes the path of a file that has the connection string');
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
      `--storage-backend=mongodb requires --mongodb-uri, --mongodb-uri-file or the environment variable ${URI_VARIABLE}`,
    );
  }
  return uri;
}
