import { isObject, type JsonValue, objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { ServiceAccountTokenSigner } from '../../authentication/token/service-account/service-account-signer.js';
import type { LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import { addTo } from '../../util/append.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { swallowIgnorableErrors } from '../errors.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import { ObjectCache } from '../object-cache.js';
import {
  TOKEN_SECRET_TYPE,
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_UID_ANNOTATION,
} from '../../authentication/token/service-account/service-account-validation.js';

/** The remembered part of a token's Secret; never the token. */
interface TokenSecret {
  readonly uid: string;
  readonly account: string;
  /** '' until the Secret is filled. */
  readonly accountUid: string;
  readonly complete: boolean;
}

export interface ServiceAccountTokensOptions {
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  readonly signer: Pick<ServiceAccountTokenSigner, 'signForSecret'>;
  /** PEM, written into every Secret. */
  readonly rootCa: string;
  readonly onError: (key: string, error: unknown) => void;
}

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/**
 * Fills Secrets of type kubernetes.io/service-account-token with a token for their account, and deletes those whose account is gone:
 * without their Secret such tokens are rejected.
 */
export class ServiceAccountTokens {
  private readonly queue: WorkQueue;
  private readonly secrets: ObjectCache<TokenSecret>;
  /** The UIDs of the accounts. */
  private readonly accounts: ObjectCache<string>;
  /** Keys of Secrets by the key of their account. */
  private readonly byAccount = new Map<string, Set<string>>();
  private readonly secretClient: LoopbackClient;
  private readonly accountClient: LoopbackClient;

  constructor(private readonly options: ServiceAccountTokensOptions) {
    this.secretClient = options.clients.for({ group: '', resource: 'secrets' });
    this.accountClient = options.clients.for({ group: '', resource: 'serviceaccounts' });
    this.queue = new WorkQueue({
      name: 'serviceaccount_tokens_service',
      clock: options.clock,
      reconcile: (key) => this.sync(key),
      onError: options.onError,
    });
    this.secrets = new ObjectCache<TokenSecret>({
      keep: (secret) => this.remember(secret),
      changed: (key, { account }) => {
        // The key of a deleted Secret stays until the Secret is reconciled, so that its account forgets it.
        addTo(this.byAccount, `${splitKey(key).namespace}/${account}`, key);
        this.queue.add(key);
      },
    });
    this.accounts = new ObjectCache<string>({
      keep: (account) => account.metadata.uid ?? '',
      changed: (key) => {
        for (const secret of this.byAccount.get(key) ?? []) this.queue.add(secret);
      },
    });
  }

  start(signal: AbortSignal): void {
    this.secrets.start(this.secretClient, signal);
    this.accounts.start(this.accountClient, signal);
    this.queue.stopOn(signal);
  }

  private remember(secret: KubeObject): TokenSecret | undefined {
    const account = secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? '';
    if (secret['type'] !== TOKEN_SECRET_TYPE || account === '') return undefined;
    const accountUid = secret.metadata.annotations?.[ACCOUNT_UID_ANNOTATION] ?? '';
    return { uid: secret.metadata.uid ?? '', account, accountUid, complete: !this.incomplete(secret) };
  }

  private incomplete(secret: KubeObject): boolean {
    const data = objectAt(secret, 'data');
    const { rootCa } = this.options;
    const lacks = (key: string): boolean => (stringAt(data, key) ?? '') === '';
    return lacks('token') || lacks('namespace') || (rootCa !== '' && stringAt(data, 'ca.crt') !== encode(rootCa));
  }

  private async sync(key: string): Promise<void> {
    await Promise.all([this.secrets.synced, this.accounts.synced]);
    const { namespace, name } = splitKey(key);
    const secret = this.secrets.get(namespace, name);
    if (secret === undefined) {
      await this.forgetEverywhere(namespace, name, key);
      return;
    }
    const account = await this.account(namespace, secret);
    if (account === undefined) {
      await swallowIgnorableErrors(() => this.secretClient.delete(namespace, name, { uid: secret.uid }));
    } else if (!secret.complete) await swallowIgnorableErrors(() => this.fill(namespace, name, secret, account));
  }

  /** Returns the UID of the account: from the cache, or, if it is not there, from the store. */
  private async account(namespace: string, secret: TokenSecret): Promise<string | undefined> {
    const fits = (uid: string | undefined): boolean =>
      uid !== undefined && (secret.accountUid === '' || secret.accountUid === uid);
    const known = this.accounts.get(namespace, secret.account);
    if (fits(known)) return known;
    const live = (await this.accountClient.get(namespace, secret.account))?.metadata.uid;
    return fits(live) ? live : undefined;
  }

  private async fill(
    namespace: string,
    name: string,
    { uid, account }: TokenSecret,
    accountUid: string,
  ): Promise<void> {
    const secret = await this.secretClient.get(namespace, name);
    if (secret === undefined || secret.metadata.uid !== uid || !this.incomplete(secret)) return;
    const data: Record<string, JsonValue | undefined> = { ...objectAt(secret, 'data') };
    if (this.options.rootCa !== '') data['ca.crt'] = encode(this.options.rootCa);
    if ((data['namespace'] ?? '') === '') data['namespace'] = encode(namespace);
    if ((data['token'] ?? '') === '') {
      const serviceAccount = { name: account, uid: accountUid };
      data['token'] = encode(await this.options.signer.signForSecret({ namespace, serviceAccount, secretName: name }));
    }
    secret['data'] = data;
    secret.metadata.annotations = {
      ...secret.metadata.annotations,
      [ACCOUNT_NAME_ANNOTATION]: account,
      [ACCOUNT_UID_ANNOTATION]: accountUid,
    };
    await this.secretClient.update(secret);
  }

  /** Removes a deleted Secret from the accounts that refer to it. */
  private async forgetEverywhere(namespace: string, name: string, key: string): Promise<void> {
    for (const [owner, keys] of this.byAccount) {
      if (!keys.delete(key)) continue;
      if (keys.size === 0) this.byAccount.delete(owner);
      await swallowIgnorableErrors(() => this.forget(namespace, splitKey(owner).name, name));
    }
  }

  private async forget(namespace: string, accountName: string, secretName: string): Promise<void> {
    const account = await this.accountClient.get(namespace, accountName);
    const secrets = account?.['secrets'];
    if (account === undefined || !Array.isArray(secrets)) return;
    const left = secrets.filter((secret) => !(isObject(secret) && secret['name'] === secretName));
    if (left.length === secrets.length) return;
    if (left.length === 0) delete account['secrets'];
    else account['secrets'] = left;
    await this.accountClient.update(account);
  }
}
