import { isObject, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { type Clock, sleep } from '../util/clock.js';
import { ClusterError } from './cluster-error.js';

/** Receives the objects of a collection and their changes, in order. Called synchronously; must not throw. */
export interface ClusterListener {
  upsert(object: KubeObject): void;
  delete(object: KubeObject): void;
  /** Called with the complete state; objects known before that are not in it are gone. */
  replaced(objects: readonly KubeObject[]): void;
  /**
   * Called when the cluster confirms the known state: after a list, when a watch starts, and after an event or bookmark. Called after the
   * other methods.
   */
  responded?(): void;
}

/** Reads a collection. */
export interface Collection {
  /** Reads one page of a list. Throws ClusterError. */
  get(path: string): Promise<JsonObject>;
  /** Returns the lines of a watch until it ends. Throws ClusterError if it does not start. */
  watch(path: string, idleMillis: number, signal: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /** Parses a line of a watch. */
  parse(line: Buffer): JsonObject;
}

export interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Returns a number between 0 and 1. */
  readonly random: () => number;
  /** Called for each interruption, after which the request is retried. */
  failed(error: unknown): void;
}

const PAGE = 500;
const WATCH_SECONDS = 300;
/** kube-apiserver sends a bookmark about every minute: a watch that is silent for longer than this has died unnoticed. */
const IDLE_MILLIS = 125_000;
/** A watch that ends sooner than this without an event counts as a failure. */
const SHORT_MILLIS = 1_000;
const FIRST_RETRY_MILLIS = 250;
const LAST_RETRY_MILLIS = 8_000;

/**
 * Lists and watches a collection until the signal aborts. A watch that ends resumes from the newest version delivered; everything is listed
 * again only if the server no longer has that version (410).
 */
export async function follow(
  path: string,
  collection: Collection,
  listener: ClusterListener,
  options: FollowOptions,
): Promise<void> {
  const following = new Reflector(path, collection, listener, options);
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
      // The first time, this is expected: the server compacts old versions.
      if (!following.resetIfExpired(error) || failures > 0) options.failed(error);
    }
    await sleep(options.clock, retryMillis(failures++, options.random()), options.signal);
  }
}

const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** Returns a backoff of a quarter of a second to eight seconds, plus up to half as much jitter, so that replicas do not retry all at once. */
const retryMillis = (failures: number, random: number): number =>
  Math.min(FIRST_RETRY_MILLIS * 2 ** failures, LAST_RETRY_MILLIS) * (1 + random / 2);

class Reflector {
  /** The version up to which everything has been delivered; undefined if nothing has, or if the server has compacted it. */
  private revision: string | undefined;
  private receivedAny = false;

  constructor(
    private readonly path: string,
    private readonly collection: Collection,
    private readonly listener: ClusterListener,
    private readonly options: FollowOptions,
  ) {}

  /** Lists if necessary, then runs one watch to its end. Returns false if the watch ended at once. */
  async once(): Promise<boolean> {
    this.receivedAny = false;
    this.revision ??= await this.list();
    const { clock, signal } = this.options;
    const began = clock.monotonic();
    const lines = await this.collection.watch(this.watchPath(this.revision), IDLE_MILLIS, signal);
    this.confirm();
    let eventCount = 0;
    for await (const line of lines) {
      this.take(this.collection.parse(line));
      eventCount++;
    }
    return eventCount > 0 || clock.monotonic() - began >= SHORT_MILLIS;
  }

  /** Reports whether the last attempt received anything from the cluster. */
  progressed(): boolean {
    return this.receivedAny;
  }

  /** Reports whether the server no longer has the version; if so, the next attempt lists. */
  resetIfExpired(error: unknown): boolean {
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
      this.confirm();
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
    this.confirm();
  }

  private confirm(): void {
    this.receivedAny = true;
    this.listener.responded?.();
  }
}
