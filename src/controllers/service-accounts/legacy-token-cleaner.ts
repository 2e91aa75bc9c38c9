import { isObject } from '../../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import {
  INVALID_SINCE_LABEL,
  LAST_USED_LABEL,
  TOKEN_SECRET_TYPE,
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_UID_ANNOTATION,
} from '../../authentication/token/service-account/service-account-validation.js';
import { podSecretNames } from '../../authorization/node/references.js';
import type { LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import { type Clock, sleep } from '../../util/clock.js';
import { swallowIgnorableErrors } from '../errors.js';
import { dayOf, parseDay, trackedSince } from './legacy-token-tracking.js';

const MANAGER = 'legacy-service-account-token-cleaner';
const INTERVAL_MILLIS = 86_400_000;

export interface LegacyTokenCleanerOptions {
  readonly clients: LoopbackClients;
  /** Reads objects that kube-controller-manager reads under its own identity, whichever service account the controller uses. */
  readonly readers: LoopbackClients;
  readonly clock: Clock;
  /** How long a token must have been idle before it is marked invalid, and again before it is removed. */
  readonly periodMillis: number;
  readonly onError: (where: string, error: unknown) => void;
}

/**
 * Marks the Secrets of generated service account tokens as invalid if they are unused for long and no pod mounts them. Deletes them if they
 * stay unused for as long again.
 */
export class LegacyTokenCleaner {
  private readonly secrets: LoopbackClient;

  constructor(private readonly options: LegacyTokenCleanerOptions) {
    this.secrets = options.clients.for({ group: '', resource: 'secrets' });
  }

  /** Runs at once and then every day. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.options;
    while (!signal.aborted) {
      await this.clean().catch((error: unknown) => onError('', error));
      await sleep(clock, INTERVAL_MILLIS, signal);
    }
  }

  private async clean(): Promise<void> {
    const { clients, readers, clock, periodMillis, onError } = this.options;
    const since = await trackedSince(clients);
    if (since === undefined || clock.now() < since + periodMillis) return;
    const mounted = new Map<string, Promise<ReadonlySet<string>>>();
    for (const secret of await readers.for({ group: '', resource: 'secrets' }).list('')) {
      const { namespace = '', name = '' } = secret.metadata;
      if (!this.idle(secret) || !(await this.generated(secret))) continue;
      let names = mounted.get(namespace);
      if (names === undefined) {
        names = this.mountedIn(namespace);
        mounted.set(namespace, names);
      }
      if ((await names).has(name)) continue;
      await swallowIgnorableErrors(() => this.markOrRemove(secret)).catch((error: unknown) =>
        onError(`${namespace}/${name}`, error),
      );
    }
  }

  /** Days compare as strings. */
  private get oldest(): string {
    return dayOf(this.options.clock.now() - this.options.periodMillis);
  }

  private idle(secret: KubeObject): boolean {
    const { creationTimestamp, labels } = secret.metadata;
    if (secret['type'] !== TOKEN_SECRET_TYPE || hasDeletionTimestamp(secret)) return false;
    const { clock, periodMillis } = this.options;
    if (!(Date.parse(creationTimestamp ?? '') < clock.now() - periodMillis)) return false;
    const lastUsed = labels?.[LAST_USED_LABEL];
    return lastUsed === undefined || (parseDay(lastUsed) !== undefined && lastUsed < this.oldest);
  }

  /** Generated tokens are listed in the `secrets` of their account; others were created on purpose. */
  private async generated({ metadata }: KubeObject): Promise<boolean> {
    const { namespace = '', name = '', annotations } = metadata;
    const accountName = annotations?.[ACCOUNT_NAME_ANNOTATION] ?? '';
    if (accountName === '') return false;
    const account = await this.options.readers
      .for({ group: '', resource: 'serviceaccounts' })
      .get(namespace, accountName);
    const uid = annotations?.[ACCOUNT_UID_ANNOTATION] ?? '';
    if (account === undefined || (uid !== '' && uid !== account.metadata.uid)) return false;
    const { secrets } = account;
    return Array.isArray(secrets) && secrets.some((secret) => isObject(secret) && secret['name'] === name);
  }

  private async mountedIn(namespace: string): Promise<ReadonlySet<string>> {
    const pods = await this.options.readers.for({ group: '', resource: 'pods' }).list(namespace);
    return new Set(pods.flatMap(podSecretNames));
  }

  private async markOrRemove(secret: KubeObject): Promise<void> {
    const { metadata } = secret;
    const { namespace = '', name = '', resourceVersion = '' } = metadata;
    const marked = metadata.labels?.[INVALID_SINCE_LABEL] ?? '';
    if (parseDay(marked) === undefined) {
      const labels = { [INVALID_SINCE_LABEL]: dayOf(this.options.clock.now()) };
      const { uid = '' } = metadata;
      await this.secrets.apply(
        { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, uid, labels } },
        MANAGER,
      );
    } else if (marked < this.oldest) await this.secrets.delete(namespace, name, { resourceVersion });
  }
}
