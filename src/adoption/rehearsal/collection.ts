import { parseJson } from '../../apimachinery/json/decode.js';
import { isObject, type JsonObject, objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Revision } from '../../storage/interfaces.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';

/** The page size of lists, in objects: a page is read and parsed in one turn of the event loop. */
const PAGE = 100;
const WATCH_SECONDS = 300;
/** kube-apiserver sends a bookmark about every minute: a watch that is silent for longer than this has died unnoticed. */
const IDLE_MILLIS = 125_000;

export interface Page {
  readonly revision: string;
  readonly objects: readonly KubeObject[];
  /** The continue token; '' on the last page. */
  readonly continue: string;
  /** The number of objects that follow; undefined if the server does not report it. */
  readonly remaining: number | undefined;
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubeObject;
}

/** Reports whether the requested revision has been compacted. */
export const isExpired = (error: unknown): boolean => error instanceof ClusterError && error.status === 410;

/** The objects of one resource in the cluster, page by page and change by change. */
export class ClusterCollection {
  private readonly path: string;

  constructor(
    private readonly client: Pick<ClusterClient, 'call' | 'watch'>,
    /** `/apis/<group>/<version>` */
    private readonly groupVersion: string,
    private readonly resource: string,
  ) {
    this.path = `${groupVersion}/${resource}`;
  }

  /** Reports whether the cluster has the object with this UID. */
  async has({ metadata: { namespace = '', name = '', uid } }: KubeObject): Promise<boolean> {
    const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${this.groupVersion}${scope}/${this.resource}/${encodeURIComponent(name)}`;
    const { status, body } = await this.client.call('GET', path);
    if (status === 404) return false;
    if (status !== 200) throw failure(status, body);
    return stringAt(objectAt(body, 'metadata'), 'uid') === uid;
  }

  /**
   * Reads a page. If the continue token has expired, the list continues at the newest revision: the caller follows the changes since the
   * first page.
   */
  async page(token: string): Promise<Page> {
    const { status, body } = await this.client.call('GET', `${this.path}?limit=${PAGE}${query('continue', token)}`);
    const metadata = objectAt(body, 'metadata');
    const next = stringAt(metadata, 'continue') ?? '';
    if (status === 410 && token !== '' && next !== '') return this.page(next);
    if (status !== 200) throw failure(status, body);
    const remaining = metadata?.['remainingItemCount'];
    return {
      revision: stringAt(metadata, 'resourceVersion') ?? '',
      objects: objectsOf(body['items']) as readonly JsonObject[] as readonly KubeObject[],
      continue: next,
      remaining: typeof remaining === 'number' ? remaining : undefined,
    };
  }

  /** Returns the newest revision and the number of objects, read consistently. */
  async newest(): Promise<{ readonly revision: Revision; readonly count: number }> {
    const { status, body } = await this.client.call('GET', `${this.path}?limit=1`);
    if (status !== 200) throw failure(status, body);
    const metadata = objectAt(body, 'metadata');
    const remaining = Number(metadata?.['remainingItemCount'] ?? 0);
    const revision = Number(stringAt(metadata, 'resourceVersion'));
    return { revision, count: objectsOf(body['items']).length + remaining };
  }

  /** Yields the changes after a revision until the watch ends. Throws ClusterError, with status 410 if the revision is too old. */
  async *changes(revision: string, signal: AbortSignal, seconds = WATCH_SECONDS): AsyncGenerator<Change> {
    const options = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${seconds}`;
    const path = `${this.path}?${options}${query('resourceVersion', revision)}`;
    for await (const line of await this.client.watch(path, IDLE_MILLIS, signal)) {
      const event = parseJson(line);
      const object = isObject(event) ? objectAt(event, 'object') : undefined;
      if (!isObject(event) || object === undefined) throw new ClusterError(0, 'cannot decode a watch event');
      const type = stringAt(event, 'type');
      if (type === 'ERROR') throw failure(Number(object['code'] ?? 0), object);
      yield { type: type as Change['type'], object: object as KubeObject };
    }
  }
}

const query = (name: string, value: string): string => (value === '' ? '' : `&${name}=${encodeURIComponent(value)}`);

/** Returns the error for a response that is not a success. */
export const failure = (status: number, body: JsonObject): ClusterError =>
  new ClusterError(status, stringAt(body, 'message') ?? `the cluster responded with status ${status}`);
