import { isObject, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { type Clock, sleep } from '../util/clock.js';
import { ClusterError } from './cluster-error.js';

/** Receives the objects of a collection and their changes, in order. Called synchronously; must not throw. */
export interface ClusterListener {
  upsert(object: KubeObject): void;
  delete(object: KubeObject): void;
  /** The complete state has been delivered; objects known before that were not delivered again are gone. */
  replaced(objects: readonly KubeObject[]): void;
  /** The cluster vouches for what is known: a list came, a watch began, or an event or a bookmark came by one. Called after the others. */
  heard?(): void;
}

/** How a collection is read. */
export interface Collection {
  /** One page of a list. Throws ClusterError. */
  get(path: string): Promise<JsonObject>;
  /** The lines of a watch, until it ends. Throws ClusterError where it does not begin. */
  watch(path: string, idleMillis: number, signal: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /** What a line of a watch says. */
  parse(line: Buffer): JsonObject;
}

export interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** Called for each interruption; it is retried. */
  failed(error: unknown): void;
}

const PAGE = 500;
const WATCH_SECONDS = 300;
/** kube-apiserver sends a bookmark about every minute: a watch that is silent for longer has died without a word. */
const IDLE_MILLIS = 125_000;
/** A watch that ends sooner than this with nothing said counts as a failure. */
const SHORT_MILLIS = 1_000;
const FIRST_RETRY_MILLIS = 250;
const LAST_RETRY_MILLIS = 8_000;

/**
 * Lists and watches a collection until the signal aborts. A watch that ends resumes from the newest version that it delivered; only
 * where the server no longer has that (410) is everything listed again.
 */
export async function follow(
  path: string,
  collection: Collection,
  listener: ClusterListener,
  options: FollowOptions,
): Promise<void> {
  const following = new Following(path, collection, listener, options);
  let failures = 0;
  while (!isOver(options.signal)) {
    try {
      if (await following.once()) {
        failures = 0;
        continue;
      }
    } catch (error) {
      if (isOver(options.signal)) return;
      if (following.progressed()) failures = 0;
      // The first time that is in order: the server forgets old versions.
      if (!following.forgotten(error) || failures > 0) options.failed(error);
    }
    await sleep(options.clock, retryMillis(failures++, options.random()), options.signal);
  }
}

const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** A quarter of a second to eight, and up to half as long again, so that replicas do not come all at once. */
const retryMillis = (failures: number, random: number): number =>
  Math.min(FIRST_RETRY_MILLIS * 2 ** failures, LAST_RETRY_MILLIS) * (1 + random / 2);

class Following {
  /** The version up to which everything has been delivered; undefined: nothing has, or the server has forgotten it. */
  private revision: string | undefined;
  private heard = false;

  constructor(
    private readonly path: string,
    private readonly collection: Collection,
    private readonly listener: ClusterListener,
    private readonly options: FollowOptions,
  ) {}

  /** A list, where one is needed, and one watch to its end. False: it ended at once. */
  async once(): Promise<boolean> {
    this.heard = false;
    this.revision ??= await this.list();
    const { clock, signal } = this.options;
    const began = clock.monotonic();
    const lines = await this.collection.watch(this.watchPath(this.revision), IDLE_MILLIS, signal);
    this.hear();
    let told = 0;
    for await (const line of lines) {
      this.take(this.collection.parse(line));
      told++;
    }
    return told > 0 || clock.monotonic() - began >= SHORT_MILLIS;
  }

  /** Whether the last attempt heard anything of the cluster. */
  progressed(): boolean {
    return this.heard;
  }

  /** Whether the error says that the server no longer knows the version; then the next attempt lists. */
  forgotten(error: unknown): boolean {
    if (!(error instanceof ClusterError && error.status === 410)) return false;
    this.revision = undefined;
    return true;
  }

  private async list(): Promise<string> {
    const objects: KubeObject[] = [];
    let next = '';
    for (;;) {
      const page = await this.collection.get(
        this.with({ limit: String(PAGE), ...(next !== '' && { continue: next }) }),
      );
      const metadata = objectAt(page, 'metadata');
      const items = page['items'];
      for (const item of Array.isArray(items) ? items : []) if (isObject(item)) objects.push(item as KubeObject);
      next = stringAt(metadata, 'continue') ?? '';
      if (next !== '') continue;
      this.listener.replaced(objects);
      this.hear();
      return stringAt(metadata, 'resourceVersion') ?? '';
    }
  }

  private watchPath(resourceVersion: string): string {
    const timeoutSeconds = String(WATCH_SECONDS);
    return this.with({ watch: 'true', resourceVersion, allowWatchBookmarks: 'true', timeoutSeconds });
  }

  private with(parameters: Record<string, string>): string {
    const separator = this.path.includes('?') ? '&' : '?';
    return `${this.path}${separator}${new URLSearchParams(parameters).toString()}`;
  }

  private take(event: JsonObject): void {
    const object = event['object'];
    if (!isObject(object)) return;
    switch (event['type']) {
      case 'ADDED':
      case 'MODIFIED':
        this.listener.upsert(object as KubeObject);
        break;
      case 'DELETED':
        this.listener.delete(object as KubeObject);
        break;
      case 'BOOKMARK':
        break;
      case 'ERROR':
        throw new ClusterError(Number(object['code'] ?? 0), stringAt(object, 'message') ?? 'the watch failed');
      default:
        return;
    }
    this.revision = stringAt(objectAt(object, 'metadata'), 'resourceVersion') ?? this.revision;
    this.hear();
  }

  private hear(): void {
    this.heard = true;
    this.listener.heard?.();
  }
}
