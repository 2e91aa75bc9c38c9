import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import type { Cancellation } from '../../util/cancellation.js';
import type { Clock } from '../../util/clock.js';
import { type ServiceResolver, webhookRemote, webhookTarget } from './client-config.js';
import type { WebhookResponse, WebhookTransport } from './connection.js';
import type { CredentialSource } from './connections.js';
import type { Credentials, ReadFile, RemoteConfig } from './kubeconfig.js';
import { postRetrying } from './retries.js';
import { HttpsTransport } from './transport.js';
import { LruCache } from '../../util/caches/lru-cache.js';

/** The maximum number of client configurations whose connections are kept. */
const MAX_CLIENTS = 200;
/** Longer responses are rejected: a response carries a patch at most. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** The maximum number of concurrent calls to one webhook; kube-apiserver has no limit, but sockets do. */
const MAX_CALLS = 1024;

export interface WebhookClientsOptions {
  readonly resolve: ServiceResolver;
  readonly clock: Clock;
  /** The users by host and port; if undefined, webhooks are called anonymously. */
  readonly credentials?: ((target: string) => Credentials | undefined) | undefined;
  /** Runs credential plugins. */
  readonly source?: ((remote: RemoteConfig) => CredentialSource | undefined) | undefined;
  readonly readFile: ReadFile;
}

const close = (_key: string, transport: HttpsTransport): void => transport.close();

/** Calls webhooks by their client configurations, over connections that are kept between calls. */
export class WebhookClients {
  private readonly clients = new LruCache<string, HttpsTransport>({
    capacity: MAX_CLIENTS,
    onEvict: close,
  });
  private readonly keys = new WeakMap<JsonObject, string>();

  constructor(private readonly options: WebhookClientsOptions) {}

  get size(): number {
    return this.clients.size;
  }

  /** Resolves with any response. Rejects with a ResponseError if there is none, or with another Error if the webhook cannot be called. */
  async post(
    config: JsonObject,
    body: string,
    timeoutSeconds: number,
    cancellation: Cancellation,
  ): Promise<WebhookResponse> {
    const transport: WebhookTransport = this.transport(config, timeoutSeconds);
    return postRetrying(transport, body, timeoutSeconds * 1000, this.options.clock, cancellation);
  }

  private transport(config: JsonObject, timeoutSeconds: number): HttpsTransport {
    let text = this.keys.get(config);
    if (text === undefined) this.keys.set(config, (text = stringifyJson(config)));
    const key = `${String(timeoutSeconds)} ${text}`;
    let transport = this.clients.get(key);
    if (transport === undefined) this.clients.set(key, (transport = this.make(config, timeoutSeconds)));
    return transport;
  }

  private make(config: JsonObject, timeoutSeconds: number): HttpsTransport {
    const { resolve, readFile, credentials, source } = this.options;
    const remote: RemoteConfig = {
      ...webhookRemote(config, resolve, timeoutSeconds, credentials?.(webhookTarget(config))),
      maxAnswerBytes: MAX_ANSWER_BYTES,
      maxCalls: MAX_CALLS,
      timeout: 'request',
    };
    if (remote.ca !== undefined && !remote.ca.includes('-----BEGIN CERTIFICATE-----')) {
      throw new Error('unable to load root certificates: unable to parse bytes as PEM block');
    }
    const plugin = source?.(remote);
    return new HttpsTransport(plugin === undefined ? { ...remote, exec: undefined } : remote, readFile, plugin);
  }

  /** Lets the calls in progress finish, then closes the connections. */
  close(): void {
    this.clients.clear(close);
  }
}
