import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { isObject, type JsonObject, objectsOf, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { parseJson } from '../apimachinery/json/decode.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import { NEVER_ABORTED } from '../util/never-aborted.js';
import { readBounded } from '../util/files/read-bounded.js';
import { ClusterError } from './cluster-error.js';
import { credentialSource } from './credential-source.js';
import { type ClusterListener, type Collection, follow } from './follow.js';
import { Connections } from './webhook/connections.js';
import { loadClusterKubeconfig, type RemoteConfig } from './webhook/kubeconfig.js';
import { readText } from '../util/files/read-text.js';

export interface ClusterAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

export interface WholeAnswer extends ClusterAnswer {
  readonly headers: IncomingHttpHeaders;
}

/** A request, with what is not as usual. */
export interface ClusterRequest {
  readonly method: string;
  readonly path: string;
  readonly accept?: string;
  readonly body?: JsonObject;
  readonly contentType?: string;
  readonly timeoutMillis?: number;
}

/** A response that is received line by line. */
export interface LineAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly lines: AsyncIterable<Buffer>;
}

/** A response as received. */
export interface PlainAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export { ClusterError } from './cluster-error.js';
export type { ClusterListener } from './follow.js';

const TIMEOUT_MILLIS = 30_000;
const MAX_BODY_BYTES = 64 << 20;

/** A client for the API server of the cluster that Annex extends, with the identity of a kubeconfig or of the pod. */
export class ClusterClient {
  private readonly connections: Connections;

  private constructor(
    private readonly remote: RemoteConfig,
    private readonly clock: Clock,
  ) {
    this.connections = new Connections(remote, readText, credentialSource(remote, clock));
  }

  /** An empty `kubeconfig` selects the service account of the pod. Throws an Error that says what cannot be used. */
  static load(kubeconfig: string, clock: Clock): ClusterClient {
    const read = (path: string): string => readFileSync(path, 'utf8');
    return new ClusterClient(kubeconfig === '' ? inCluster() : loadClusterKubeconfig(kubeconfig, read), clock);
  }

  static of(remote: RemoteConfig, clock: Clock): ClusterClient {
    return new ClusterClient(remote, clock);
  }

  /** Returns a client for one server of the cluster, `host:port`, whose certificate is verified as that of the Service `kubernetes`. */
  at(address: string): ClusterClient {
    const { remote } = this;
    const serverName = remote.serverName ?? 'kubernetes.default.svc';
    return new ClusterClient({ ...remote, url: new URL(`https://${address}`), serverName }, this.clock);
  }

  get server(): string {
    return this.remote.url.href.replace(/\/$/, '');
  }

  /** Returns any response of the server, whatever its status. Throws ClusterError if there is none. */
  async call(method: string, path: string, body?: JsonObject, contentType?: string): Promise<ClusterAnswer> {
    const more = { ...(body && { body }), ...(contentType !== undefined && { contentType }) };
    const { status, body: answered } = await this.exchange({ method, path, ...more });
    return { status, body: answered };
  }

  /** Like `call`, with the headers of the response. */
  async exchange(request: ClusterRequest): Promise<WholeAnswer> {
    const { method, path, accept = 'application/json', body, contentType = 'application/json' } = request;
    const text = body === undefined ? undefined : JSON.stringify(body);
    // Node sends the body of a DELETE without its length, and servers then ignore it.
    const ofBody = text !== undefined && {
      'Content-Type': contentType,
      'Content-Length': String(Buffer.byteLength(text)),
    };
    const timeout = request.timeoutMillis ?? TIMEOUT_MILLIS;
    const response = await this.open(method, path, { Accept: accept, ...ofBody }, text, timeout);
    const bytes = await readAll(response);
    return { status: response.statusCode ?? 0, headers: response.headers, body: parseBody(bytes) };
  }

  /** Returns any response, whatever its format. */
  async plain(method: string, path: string): Promise<PlainAnswer> {
    const response = await this.open(method, path, { Accept: '*/*' }, undefined, TIMEOUT_MILLIS);
    const text = (await readAll(response)).toString('utf8');
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  }

  /** Returns a page of a list with only the metadata of its items. Throws ClusterError. */
  async metadata(path: string): Promise<JsonObject> {
    const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    const response = await this.open('GET', path, { Accept: accept }, undefined, TIMEOUT_MILLIS);
    const body = parseBody(await readAll(response));
    if (response.statusCode !== 200) throw refusal('GET', path, { status: response.statusCode ?? 0, body });
    return body;
  }

  /** Returns the groups of aggregated discovery; undefined if the server has none (Kubernetes before 1.27). Throws ClusterError. */
  async discovery(): Promise<readonly JsonObject[] | undefined> {
    const as = (version: string): string =>
      `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
    const accept = `${as('v2')},${as('v2beta1')},application/json`;
    const response = await this.open('GET', '/apis', { Accept: accept }, undefined, TIMEOUT_MILLIS);
    const body = parseBody(await readAll(response));
    if (response.statusCode !== 200) throw refusal('GET', '/apis', { status: response.statusCode ?? 0, body });
    return body['kind'] === 'APIGroupDiscoveryList' ? objectsOf(body['items']) : undefined;
  }

  /** Like `call`, for requests that must succeed; returns undefined for 404. */
  async must(method: string, path: string, body?: JsonObject, contentType?: string): Promise<KubeObject | undefined> {
    const answer = await this.call(method, path, body, contentType);
    if (answer.status === 404) return undefined;
    if (answer.status >= 300) throw refusal(method, path, answer);
    return answer.body as KubeObject;
  }

  /** Lists and watches a collection until the signal aborts; recovers from interruptions and reports them to `failed`. */
  async follow(
    path: string,
    listener: ClusterListener,
    signal: AbortSignal,
    failed: (error: unknown) => void,
  ): Promise<void> {
    const collection: Collection = {
      get: (page) => this.page(page),
      watch: (watch, idleMillis, over) => this.watch(watch, idleMillis, over),
      parse: parseBody,
    };
    await follow(path, collection, listener, { clock: this.clock, signal, random: Math.random, failed });
  }

  close(): void {
    this.connections.close();
  }

  private async page(path: string): Promise<JsonObject> {
    const answer = await this.call('GET', path);
    if (answer.status !== 200) throw refusal('GET', path, answer);
    return answer.body;
  }

  /** Yields the lines of a watch until it ends. Throws ClusterError if it does not start. */
  async watch(path: string, idleMillis: number, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    return (await this.stream({ method: 'GET', path, timeoutMillis: idleMillis }, signal)).lines;
  }

  /** Begins a response that is received line by line. Throws ClusterError if its status is not 200. */
  async stream(request: ClusterRequest, signal: AbortSignal): Promise<LineAnswer> {
    const { method, path, accept = 'application/json', timeoutMillis = TIMEOUT_MILLIS } = request;
    const response = await this.open(method, path, { Accept: accept }, undefined, timeoutMillis);
    const { statusCode: status = 0, headers } = response;
    if (status === 200) return { status, headers, lines: lines(response, signal) };
    const { message } = parseBody(await readAll(response)) as { message?: string };
    throw new ClusterError(status, message ?? 'the watch was refused');
  }

  private async open(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: string | undefined,
    timeout: number,
  ): Promise<IncomingMessage> {
    const lease = await this.connections
      .lease(() => NEVER_ABORTED)
      .catch((error: unknown) => {
        throw new ClusterError(0, messageOf(error));
      });
    const url = new URL(this.server + path);
    const options = { method, headers: { ...lease.headers, ...headers }, agent: lease.agent };
    return new Promise((resolve, reject) => {
      const answered = (response: IncomingMessage): void => {
        if (response.statusCode === 401) this.connections.rejected();
        response.once('close', () => lease.release());
        resolve(response);
      };
      const call =
        url.protocol === 'http:'
          ? this.connections.plainRequest(url, { method, headers: options.headers }, answered)
          : httpsRequest(url, options, answered);
      call.on('error', (error) => {
        lease.release();
        reject(new ClusterError(0, error.message));
      });
      call.setTimeout(timeout, () => {
        call.destroy(new Error(`no response within ${timeout} ms`));
      });
      call.end(body);
    });
  }
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Returns the configuration for the service account of the pod that the server runs in. */
function inCluster(): RemoteConfig {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = process.env;
  if (host === '' || port === '') {
    throw new Error(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
  }
  return {
    url: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    ca: readFileSync(join(ACCOUNT, 'ca.crt'), 'utf8'),
    serverName: undefined,
    skipVerification: false,
    certificate: undefined,
    key: undefined,
    token: undefined,
    tokenFile: join(ACCOUNT, 'token'),
    basic: undefined,
    exec: undefined,
  };
}

const refusal = (method: string, path: string, { status, body }: ClusterAnswer): ClusterError =>
  new ClusterError(status, stringAt(body, 'message') ?? `${method} ${path}: ${status}`);

const readAll = (response: IncomingMessage): Promise<Buffer> =>
  readBounded(response, MAX_BODY_BYTES, () => new ClusterError(0, 'the response is too large'));

function parseBody(bytes: Buffer): JsonObject {
  try {
    const value = parseJson(bytes);
    if (isObject(value)) return value;
  } catch {
    // Plain text responses become a message.
  }
  return { message: bytes.toString('utf8').trim().slice(0, 1024) };
}

async function* lines(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stop = (): void => void response.destroy();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of response) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      if (rest.length > MAX_BODY_BYTES) throw new ClusterError(0, 'a watch event is too large');
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        yield rest.subarray(0, end);
        rest = rest.subarray(end + 1);
      }
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
