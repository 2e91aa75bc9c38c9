import { readFileSync } from 'node:fs';
import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Clock, Timer } from '../../util/clock.js';
import type { Logger } from '../../util/logger.js';
import type { PlaneCheck } from './store-checks.js';

/** Bytes in use and their limits. A limit of 0 means unlimited. */
export interface MemoryUse {
  /** Memory of the process that is not backed by a file: the kernel cannot reclaim it. */
  readonly anonymous: { readonly used: number; readonly limit: number };
  readonly heap: { readonly used: number; readonly limit: number };
}

/** The requests to refuse, the fraction of a limit at which refusal starts, and the fraction below which it ends. */
const CREATES = { from: 0.9, until: 0.85, refuses: 'creates are refused' };
const ALMOST_ALL = { from: 0.95, until: 0.9, refuses: 'all requests except gets and deletions are refused' };

const LOOK_MILLIS = 500;
const MIB = 1 << 20;

export type Refusable = 'create' | 'update' | 'list' | 'watch';

export interface MemoryGuardOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly use: () => MemoryUse;
  /** Calls `collected` after garbage collections, until the returned function is called. */
  readonly collections: (collected: () => void) => () => void;
}

/** Refuses requests that take memory before the kernel kills the process or the process runs out of heap. */
export class MemoryGuard {
  readonly refused = new Map<Refusable, number>();
  /** Bytes of heap in use after the last garbage collection. Between collections the heap also contains garbage. */
  private live = 0;
  private threshold: typeof CREATES | undefined;
  private reason = '';
  private timer: Timer | undefined;
  private stopCollections: (() => void) | undefined;

  constructor(private readonly options: MemoryGuardOptions) {}

  start(): void {
    this.stopCollections = this.options.collections(() => {
      const use = this.options.use();
      this.live = use.heap.used;
      this.evaluate(use);
    });
    this.scheduleEvaluation();
  }

  stop(): void {
    this.timer?.cancel();
    this.stopCollections?.();
  }

  private scheduleEvaluation(): void {
    this.timer = this.options.clock.setTimer(LOOK_MILLIS, () => {
      this.evaluate();
      this.scheduleEvaluation();
    });
  }

  /** Returns the reason to refuse a request, and counts the refusal; undefined if the request is accepted. */
  refusal(operation: Refusable): string | undefined {
    if (this.threshold === undefined || (this.threshold === CREATES && operation !== 'create')) return undefined;
    this.refused.set(operation, (this.refused.get(operation) ?? 0) + 1);
    return this.reason;
  }

  /** Fails readyz while requests are refused, so that they go to another replica. */
  readonly check: PlaneCheck = {
    name: 'memory',
    endpoints: ['readyz'],
    check: () => {
      if (this.threshold !== undefined) throw new Error(this.reason);
    },
  };

  private evaluate({ anonymous, heap } = this.options.use()): void {
    const [what, used, limit] =
      part(anonymous.used, anonymous.limit) >= part(this.live, heap.limit)
        ? ['of the memory limit', anonymous.used, anonymous.limit]
        : ['of the usable JavaScript heap', this.live, heap.limit];
    const before = this.threshold;
    this.threshold = [ALMOST_ALL, CREATES].find(
      (each) => part(used, limit) >= (wasBeyond(before, each) ? each.until : each.from),
    );
    if (this.threshold !== undefined)
      this.reason = `${mebibytes(used)} of ${mebibytes(limit)} MiB ${what} are in use; ${this.threshold.refuses}`;
    if (this.threshold === before) return;
    const { logger } = this.options;
    if (this.threshold === undefined) logger.info('memory is available again; requests are no longer refused');
    else logger.warn('memory is nearly exhausted', { reason: this.reason });
  }
}

function part(used: number, limit: number): number {
  return limit === 0 ? 0 : used / limit;
}

/** Reports whether the requests of `threshold` were refused before. */
function wasBeyond(before: typeof CREATES | undefined, threshold: typeof CREATES): boolean {
  return before === threshold || before === ALMOST_ALL;
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / MIB);
}

/** More bytes than any machine has. process.constrainedMemory() returns such a value if the cgroup sets no limit. */
const NO_LIMIT = 2 ** 53;

/** Returns the memory limit of the container in bytes; 0 if it has none. */
export function memoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit >= NO_LIMIT ? 0 : limit;
}

/**
 * The usable fraction of the old generation. V8 aborts the process when four collections in a row leave at least 80 % of the old generation in
 * use and the program ran for less than 40 % of the time (Heap::IsIneffectiveMarkCompact). With 92 % two of three servers that were filled died.
 */
const USABLE_HEAP = 0.8;
/** The size of the young generation in semi-spaces. */
const SEMI_SPACES = 3;
/** The default size of a semi-space in MiB: 16 before Node 24, and at most 64 since. */
const SEMI_SPACE = Number(process.versions.node.split('.')[0]) < 24 ? 16 : 64;

/** Returns the number of heap bytes that live objects may take. `limit` includes the young generation. */
export function usableHeap(
  limit = getHeapStatistics().heap_size_limit,
  flags = [process.env['NODE_OPTIONS'] ?? '', ...process.execArgv].join(' '),
): number {
  const old = flagOf(flags, 'old') ?? limit / MIB - SEMI_SPACES * (flagOf(flags, 'semi') ?? SEMI_SPACE);
  return old * MIB * USABLE_HEAP;
}

/** Returns the value of the last flag that limits a space, in MiB. */
function flagOf(flags: string, space: 'old' | 'semi'): number | undefined {
  const value = new RegExp(`.*--max[-_]${space}[-_]space[-_]size[= ](\\d+)`).exec(flags)?.[1];
  return value === undefined ? undefined : Number(value);
}

/** Calls `collected` after each major garbage collection, when nearly everything left on the heap is in use. */
export function heapCollections(collected: () => void): () => void {
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as (PerformanceEntry & { readonly detail: NodeGCPerformanceDetail })[];
    const isMajor = entries.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (isMajor) collected();
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
}

export function memoryUse(): MemoryUse {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return { anonymous: { used: anonymousBytes(), limit: memoryLimit() }, heap: { used, limit: usableHeap(limit) } };
}

function anonymousBytes(): number {
  try {
    const kibibytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    if (kibibytes !== undefined) return Number(kibibytes) * 1024;
  } catch {
    // Not on Linux.
  }
  return process.memoryUsage.rss();
}
