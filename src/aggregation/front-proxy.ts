import { parseJson } from '../apimachinery/json/decode.js';
import { type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { CaBundle } from '../authentication/request/client-ca.js';
import type { RequestHeaderConfig } from '../authentication/request/request-header.js';
import type { ClusterClient } from '../client/cluster-client.js';
import { messageOf } from '../util/error-message.js';

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps?fieldSelector=metadata.name%3D${NAME}`;

const NOTHING: RequestHeaderConfig = {
  usernameHeaders: [],
  uidHeaders: [],
  groupHeaders: [],
  extraHeaderPrefixes: [],
  allowedNames: [],
};

/**
 * Follows what the cluster publishes about its front proxy and its client certificates, in the ConfigMap
 * kube-system/extension-apiserver-authentication. Unusable content leaves the previous one in force.
 */
export class FrontProxyTrust {
  private headers: RequestHeaderConfig = NOTHING;
  private proxyCa: CaBundle | undefined;
  private clientCa: CaBundle | undefined;
  /** The reason why the last content could not be used; '' if it could. */
  trouble = `the ConfigMap ${NAMESPACE}/${NAME} has not been read yet`;

  get config(): RequestHeaderConfig {
    return this.headers;
  }

  /** CAs of the proxy's certificate; undefined if the cluster has no front proxy, in which case no header is trusted. */
  get proxy(): CaBundle | undefined {
    return this.proxyCa;
  }

  /** CAs of the cluster's client certificates. */
  get clients(): CaBundle | undefined {
    return this.clientCa;
  }

  /** Reads the ConfigMap once; throws if it cannot be read or used. */
  async load(client: Pick<ClusterClient, 'must'>): Promise<void> {
    const map = await client.must('GET', `/api/v1/namespaces/${NAMESPACE}/configmaps/${NAME}`);
    if (map === undefined) throw new Error(`the cluster has no ConfigMap ${NAMESPACE}/${NAME}`);
    this.take(map);
    if (this.trouble !== '') throw new Error(this.trouble);
  }

  /** Calls `changed` on every change, `broken` when the ConfigMap cannot be read or used, and `restored` when it can be again. */
  follow(
    client: Pick<ClusterClient, 'follow'>,
    signal: AbortSignal,
    handlers: { changed(): void; broken(error: unknown): void; restored(): void },
  ): Promise<void> {
    let missing = false;
    const take = (map: KubeObject): void => {
      missing = false;
      if (this.take(map)) handlers.changed();
    };
    const gone = (): void => {
      missing = true;
    };
    const listener = {
      upsert: take,
      delete: gone,
      replaced: ([map]: readonly KubeObject[]) => {
        if (map === undefined) gone();
        else take(map);
      },
      responded: () => {
        if (missing) handlers.broken(new Error(`the cluster has no ConfigMap ${NAMESPACE}/${NAME}`));
        else if (this.trouble !== '') handlers.broken(new Error(this.trouble));
        else handlers.restored();
      },
    };
    return client.follow(PATH, listener, signal, (error) => handlers.broken(error));
  }

  /** Applies the content. Returns false if it cannot be used. */
  private take(map: KubeObject): boolean {
    try {
      const data = objectAt(map, 'data') ?? {};
      const headers: RequestHeaderConfig = {
        usernameHeaders: names(data, 'requestheader-username-headers'),
        uidHeaders: names(data, 'requestheader-uid-headers'),
        groupHeaders: names(data, 'requestheader-group-headers'),
        extraHeaderPrefixes: names(data, 'requestheader-extra-headers-prefix'),
        allowedNames: names(data, 'requestheader-allowed-names'),
      };
      const proxy = bundle(data, 'requestheader-client-ca-file');
      const clients = bundle(data, 'client-ca-file');
      this.headers = headers;
      this.proxyCa = proxy;
      this.clientCa = clients;
      this.trouble = '';
      return true;
    } catch (error) {
      const text = messageOf(error);
      this.trouble = `the ConfigMap ${NAMESPACE}/${NAME} cannot be used: ${text}`;
      return false;
    }
  }
}

function names(data: JsonObject, key: string): string[] {
  const text = stringAt(data, key) ?? '';
  if (text === '') return [];
  const value = parseJson(text);
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string')) {
    throw new Error(`${key} is not a list of strings`);
  }
  return value;
}

function bundle(data: JsonObject, key: string): CaBundle | undefined {
  const text = stringAt(data, key) ?? '';
  return text === '' ? undefined : new CaBundle(text);
}
