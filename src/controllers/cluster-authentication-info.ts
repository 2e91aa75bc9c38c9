import { X509Certificate } from 'node:crypto';
import { deepEqual, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import { pem, pemBlocks } from '../pki/der.js';
import type { LoopbackClient, LoopbackClients } from '../registry/rest/loopback-client.js';
import { type Clock, sleep } from '../util/clock.js';
import { WorkQueue } from '../util/work-queue.js';
import { swallowIgnorableErrors } from './errors.js';
import { ObjectCache } from './object-cache.js';

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';
const CLIENT_CA = 'client-ca-file';
const PROXY_CA = 'requestheader-client-ca-file';
/** The publishing interval: CA files may have changed. */
const INTERVAL_MILLIS = 60_000;

/** The information that extension API servers need to authenticate the users of this server. */
export interface AuthenticationInfo {
  /** The PEM of each client CA. */
  readonly clientCa: readonly string[];
  /** Undefined without a front proxy. */
  readonly proxy: ProxyInfo | undefined;
}

interface ProxyInfo {
  readonly ca: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
  readonly allowedNames: readonly string[];
}

export interface PublisherOptions {
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  /** Returns the current information. */
  info(): AuthenticationInfo;
  readonly onError: (where: string, error: unknown) => void;
}

/**
 * Maintains the ConfigMap kube-system/extension-apiserver-authentication, from which extension API servers learn what this server trusts.
 * Several servers may publish to it: each adds its own entries and removes nothing but expired CAs.
 */
export class AuthenticationInfoPublisher {
  private readonly queue: WorkQueue;
  private readonly client: LoopbackClient;

  constructor(private readonly options: PublisherOptions) {
    const { clients, clock } = options;
    this.client = clients.for({ group: '', resource: 'configmaps' });
    this.queue = new WorkQueue({
      name: 'cluster_authentication_trust_controller',
      clock,
      reconcile: () => this.publish(),
      onError: options.onError,
    });
  }

  start(signal: AbortSignal): void {
    const changed = (): void => this.queue.add(`${NAMESPACE}/${NAME}`);
    const isOurs = ({ metadata: { namespace, name } }: { metadata: JsonObject }): boolean =>
      namespace === NAMESPACE && name === NAME;
    const cache = new ObjectCache<true>({ only: NAME, keep: (map) => (isOurs(map) ? true : undefined), changed });
    cache.start(this.client, signal);
    this.queue.stopOn(signal);
    void (async () => {
      while (!signal.aborted) {
        changed();
        await sleep(this.options.clock, INTERVAL_MILLIS, signal);
      }
    })();
  }

  private publish(): Promise<void> {
    return swallowIgnorableErrors(async () => {
      const existing = await this.client.get(NAMESPACE, NAME);
      const before = objectAt(existing, 'data') ?? {};
      const data = published(before, this.options.info(), this.options.clock.now());
      if (existing === undefined) {
        const metadata = { namespace: NAMESPACE, name: NAME };
        await this.client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
      } else if (!deepEqual(before, data)) {
        await this.client.update({ ...existing, data });
      }
    });
  }
}

/** Merges the existing data with what is to be published. Throws if the existing data is malformed. */
export function published(before: JsonObject, { clientCa, proxy }: AuthenticationInfo, now: number): JsonObject {
  const data: JsonObject = {};
  const clients = bundle(before[CLIENT_CA], clientCa, now);
  if (clients !== '') data[CLIENT_CA] = clients;
  const proxies = bundle(before[PROXY_CA], proxy?.ca ?? [], now);
  if (proxies === '') return data;
  const list = (key: string, added: readonly string[] = []): string[] => [
    ...new Set([...listOf(stringAt(before, key), key), ...added]),
  ];
  const uids = list('requestheader-uid-headers', proxy?.uidHeaders);
  return {
    ...data,
    'requestheader-username-headers': JSON.stringify(list('requestheader-username-headers', proxy?.usernameHeaders)),
    ...(uids.length > 0 && { 'requestheader-uid-headers': JSON.stringify(uids) }),
    'requestheader-group-headers': JSON.stringify(list('requestheader-group-headers', proxy?.groupHeaders)),
    'requestheader-extra-headers-prefix': JSON.stringify(
      list('requestheader-extra-headers-prefix', proxy?.extraHeaderPrefixes),
    ),
    [PROXY_CA]: proxies,
    'requestheader-allowed-names': JSON.stringify(list('requestheader-allowed-names', proxy?.allowedNames)),
  };
}

function bundle(before: unknown, added: readonly string[], now: number): string {
  const text = [typeof before === 'string' ? before : '', ...added].join('\n');
  const valid = pemBlocks(text, 'CERTIFICATE').filter((raw) => Date.parse(new X509Certificate(raw).validTo) > now);
  return [...new Set(valid.map((raw) => pem('CERTIFICATE', raw)))].join('');
}

function listOf(text: string | undefined, key: string): string[] {
  if (text === undefined || text === '') return [];
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw new Error(`${key} is not a list of strings`);
  }
  return value;
}
