import type { Registry } from 'prom-client';
import { Encryption } from '../../storage/encryption/encryption.js';
import { encryptedBackend } from '../../storage/encryption/encrypted-backend.js';
import { EncryptionConfigError } from '../../storage/encryption/types.js';
import type { Cacher } from '../../storage/cacher/interfaces.js';
import type { Backend } from '../../storage/interfaces.js';
import type { Transformer } from '../../storage/encryption/transformer.js';
import { isNeverEncrypted } from '../../storage/encryption/never-encrypted.js';
import { type LogSet, wrapLogs } from '../../storage/routed-backend.js';
import type { Clock, Timer } from '../../util/clock.js';
import type { Logger } from '../../util/logger.js';
import { hashLabel } from '../../util/files/config-metrics.js';
import { serverId } from '../http/server-id.js';
import { encryptionMetrics } from '../metrics/encryption-metrics.js';
import type { PlaneCheck } from '../health/store-checks.js';
import { FlagError } from '../options/flags.js';
import type { EncryptionOptions } from '../options/storage-options.js';

/** The interval at which objects that could not be decrypted are tried again. */
const RETRY_MILLIS = 5_000;

/** Encryption at rest, between the store and everything above it. */
export interface OpenEncryption {
  /** Reported in healthz and readyz, but not in livez: a restart does not repair a key provider. */
  readonly checks: readonly PlaneCheck[];
  wrap(stores: LogSet): LogSet;
  /** Returns what encrypts Secrets at this time; undefined if nothing does. */
  ofSecrets(): Transformer | undefined;
  start(): Promise<void>;
  /** Reloads types with unreadable objects as soon as those can be read. */
  follow(cacher: Pick<Cacher, 'reload'>, backend: Pick<Backend, 'get'>): void;
  close(): void;
}

/** Opens the encryption that `--encryption-provider-config` configures; undefined if the flag is not set. Throws FlagError. */
export function openEncryption({
  options,
  clock,
  logger,
  registry,
}: {
  readonly options: EncryptionOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}): OpenEncryption | undefined {
  const path = options.encryptionProviderConfig;
  if (path === '') return undefined;
  const { observer, config } = encryptionMetrics(registry, hashLabel(serverId()), clock);
  const unreadable = new Map<string, string>();
  const encryption = newEncryption({
    path,
    reload: options.encryptionProviderConfigAutomaticReload,
    clock,
    observer,
    onActiveHash: config.setActiveHash,
    failed: (provider, error) => logger.warn('KMS provider is unhealthy', { provider, error: error.message }),
    reloaded: (error) => {
      config.recordReload(error === undefined ? 'success' : 'failure', clock.now());
      if (error === undefined) logger.info('loaded the new encryption configuration');
      else
        logger.error('cannot load the new encryption configuration; keeping the current one', { error: error.message });
    },
  });
  const note = (resource: string, key: string): void => void unreadable.set(resource, key);
  const transformers = { of: (type: string) => (isNeverEncrypted(type) ? undefined : encryption.of(type)) };
  let timer: Timer | undefined;
  const check = { name: 'kms-providers', check: () => encryption.check(), endpoints: ['healthz', 'readyz'] as const };
  return {
    checks: encryption.hasCheck ? [check] : [],
    wrap: (logs) => wrapLogs(logs, (backend) => encryptedBackend({ backend, transformers, clock, onUnreadable: note })),
    ofSecrets: () => encryption.of('secrets'),
    start: () => encryption.start(),
    follow: (cacher, backend) => {
      const look = (): Promise<void> => reloadReadable(unreadable, cacher, backend);
      const again = (): void => {
        timer = clock.setTimer(RETRY_MILLIS, () => void look().finally(again));
      };
      again();
      encryption.onChange(() => void look());
    },
    close: () => {
      timer?.cancel();
      encryption.close();
    },
  };
}

/** Reloads the types whose objects can be decrypted again. `unreadable` maps each type with unreadable objects to the key of one of them. */
async function reloadReadable(
  unreadable: Map<string, string>,
  cacher: Pick<Cacher, 'reload'>,
  backend: Pick<Backend, 'get'>,
): Promise<void> {
  for (const [resource, key] of unreadable) {
    const found = await backend.get(resource, key).catch(() => undefined);
    if (found?.unreadable !== undefined) continue;
    unreadable.delete(resource);
    cacher.reload(resource);
  }
}

function newEncryption(options: ConstructorParameters<typeof Encryption>[0]): Encryption {
  try {
    return new Encryption(options);
  } catch (error) {
    if (error instanceof EncryptionConfigError) throw new FlagError(error.message);
    throw error;
  }
}
