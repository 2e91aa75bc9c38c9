import type { LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { expirationOf, isBootstrapToken, LONGEST_WAIT_MILLIS } from './bootstrap-tokens.js';
import { swallowIgnorableErrors } from '../errors.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import { ObjectCache } from '../object-cache.js';

interface Token {
  readonly uid: string;
  readonly end: number;
}

/** Deletes expired bootstrap tokens. */
export class TokenCleaner {
  private readonly queue: WorkQueue;
  private readonly tokens: ObjectCache<Token>;

  constructor(
    private readonly clients: LoopbackClients,
    private readonly clock: Clock,
    onError: (key: string, error: unknown) => void,
  ) {
    this.queue = new WorkQueue({ name: 'token_cleaner', clock, reconcile: (key) => this.sync(key), onError });
    this.tokens = new ObjectCache<Token>({
      keep: (secret) =>
        isBootstrapToken(secret) ? { uid: secret.metadata.uid ?? '', end: expirationOf(secret) } : undefined,
      changed: (key) => this.queue.add(key),
    });
  }

  start(signal: AbortSignal): void {
    this.tokens.start(this.clients.for({ group: '', resource: 'secrets' }), signal);
    this.queue.stopOn(signal);
  }

  private async sync(key: string): Promise<void> {
    const { namespace, name } = splitKey(key);
    const token = this.tokens.get(namespace, name);
    if (token === undefined || token.end === Infinity) return;
    const left = token.end - this.clock.now();
    if (left > 0) {
      this.queue.addAfter(key, Math.min(left, LONGEST_WAIT_MILLIS));
      return;
    }
    const client = this.clients.for({ group: '', resource: 'secrets' });
    await swallowIgnorableErrors(() => client.delete(namespace, name, { uid: token.uid }));
  }
}
