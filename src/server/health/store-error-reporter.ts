import type { Registry } from 'prom-client';
import { StorageError, type StorageErrorCode } from '../../storage/errors.js';
import type { MongoObserver } from '../../storage/mongodb/observer.js';
import type { Clock } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import type { Logger } from '../../util/logger.js';
import { LruCache } from '../../util/caches/lru-cache.js';
import { type CounterVec, metricsOf } from '../../util/metrics/metrics.js';

/** The interval at which a failure of the same kind is logged again. */
const REPEAT_MILLIS = 10_000;
/** The maximum number of kinds of failures to remember. */
const MAX_KINDS = 100;
const MAX_CAUSE_LENGTH = 1_000;

/** Codes whose cause is hidden from clients. */
const WITHHELD: ReadonlySet<StorageErrorCode> = new Set(['unavailable', 'unknown-outcome', 'unusable']);

export interface StoreErrorReporterOptions {
  readonly registry: Registry;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Redacts the credentials of the store in a text. */
  redact(text: string): string;
}

interface Logged {
  readonly at: number;
  /** The number of failures of this kind since then. */
  withheld: number;
}

/** Logs and counts store failures: those in the background, and the causes of failed requests, which clients do not see. */
export class StoreErrorReporter implements MongoObserver {
  private readonly streams: CounterVec;
  private readonly restarts: CounterVec;
  private readonly projections: CounterVec;
  private readonly indexes: CounterVec;
  private readonly logged = new LruCache<string, Logged>({ capacity: MAX_KINDS });

  constructor(private readonly options: StoreErrorReporterOptions) {
    const { registry } = options;
    const { counter } = metricsOf(registry);
    this.streams = counter(
      'annex_store_change_stream_errors_total',
      'Failures of the change stream of a MongoDB log; the name of the main log is empty.',
      ['log'],
    );
    this.restarts = counter(
      'annex_store_commit_restarts_total',
      'Restarts of the commit path of a MongoDB log with new connections, after no write succeeded for 30 seconds.',
      ['log'],
    );
    this.projections = counter(
      'annex_store_projection_errors_total',
      'Failed attempts to project committed writes of a MongoDB log; the name of the main log is empty.',
      ['log'],
    );
    this.indexes = counter(
      'annex_store_index_errors_total',
      'Failed attempts to update the MongoDB indexes of a type.',
      ['resource'],
    );
  }

  streamFailed(log: string, error: unknown): void {
    this.streams.withLabelValues(log).inc();
    const text = this.textOf(error);
    this.options.logger.warn('MongoDB change stream failed; reopening it', { log, error: text });
  }

  projectionFailed(log: string, error: unknown): void {
    this.projections.withLabelValues(log).inc();
    this.options.logger.warn('cannot project committed writes into the collections of MongoDB; will retry', {
      log,
      error: this.textOf(error),
    });
  }

  startedOver(log: string): void {
    this.restarts.withLabelValues(log).inc();
    this.options.logger.warn('no write has succeeded for 30 s; restarting the commit path with new connections', {
      log,
    });
  }

  halted(log: string, reason: string): void {
    this.options.logger.error('the store cannot be used', { log, reason: this.options.redact(reason) });
  }

  resumed(log: string): void {
    this.options.logger.info('the log in MongoDB, which was replaced, has been loaded; the store is in use again', {
      log,
    });
  }

  indexFailed(resource: string, error: unknown): void {
    this.indexes.withLabelValues(resource).inc();
    const text = this.textOf(error);
    const fields = { resource, error: text };
    this.options.logger.warn('cannot update the MongoDB indexes of a type; will retry', fields);
  }

  /** Logs a kind of failure at most once in ten seconds, with the number of failures omitted in between. */
  requestFailed(operation: string, error: unknown): void {
    if (!(error instanceof StorageError) || !WITHHELD.has(error.code)) return;
    const { clock, logger } = this.options;
    const { cause } = error;
    // Different revisions and times do not make a different kind.
    const message = error.message.replaceAll(/\d+/g, '');
    const kind = `${error.code} ${message} ${cause instanceof Error ? cause.name : typeof cause}`;
    const before = this.logged.get(kind);
    const now = clock.monotonic();
    if (before !== undefined && now - before.at < REPEAT_MILLIS) {
      before.withheld++;
      return;
    }
    this.logged.set(kind, { at: now, withheld: 0 });
    const fields = { operation, error: error.message, repeated: before?.withheld ?? 0 };
    logger.warn('store request failed', cause === undefined ? fields : { ...fields, cause: this.textOf(cause) });
  }

  /** Returns the message of an error with its cause, without the credentials of the store. */
  textOf(error: unknown): string {
    const cause = error instanceof StorageError && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
    return this.options.redact(`${messageOf(error)}${cause}`).slice(0, MAX_CAUSE_LENGTH);
  }
}
