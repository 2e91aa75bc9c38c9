import { newInternalError, newRequestEntityTooLarge, newTooManyRequests } from '../apimachinery/meta/errors.js';
import type { Offload, OffloadScope } from '../endpoints/handlers/scope.js';
import type { RbacRuleSource } from '../authorization/rbac/types.js';
import type { Description } from '../endpoints/openapi/parts.js';
import type { OpenApiGroupVersion } from '../endpoints/openapi/source.js';
import type { ItemForm } from '../endpoints/responsewriters/sink.js';
import { sendWhole } from '../endpoints/responsewriters/body.js';
import type { ConvertedObject } from '../registry/customresource/view.js';
import type { ServedVersion } from '../registry/rest/served.js';
import type { OffloadConversion } from '../registry/customresource/serve-options.js';
import type { CachedObject } from '../storage/cacher/interfaces.js';
import type { StoredObject } from '../storage/interfaces.js';
import type { Clock, Timer } from '../util/clock.js';
import type { Logger } from '../util/logger.js';
import { messageOf } from '../util/error-message.js';
import {
  type CallResult,
  type Call,
  type FromWorker,
  deserializeError,
  ownedBuffers,
  serializeError,
  type SentResponse,
  type ToWorker,
  transferList,
} from './messages.js';
import type { PoolMetrics } from './pool-metrics.js';
import type { DeclarativeValidation } from '../registry/builtin/declarative/declared-type.js';
import { FairFlows } from '../scheduling/fair-flows.js';
import { ExpensiveWrites } from '../scheduling/expensive-writes.js';
import { OFFLOAD_WAIT_BYTES } from '../scheduling/thresholds.js';
import { answerCall, recordProgress } from './task-host.js';
import { describeWork, KnownDefinitions, requestWork, showWork, type Work } from './work.js';

/** The connection of the pool to a worker. */
export interface WorkerLink {
  post(message: ToWorker, transfer: readonly ArrayBuffer[]): void;
  /** Registers the callbacks. Called once, before the first message. `ended` is called once, with the error if there is one. */
  listen(received: (message: FromWorker) => void, ended: (error: Error | undefined) => void): void;
  terminate(): void;
}

export interface PoolOptions {
  /** Starts a worker. Workers are started when there is work, and terminated when they have been idle for a while. */
  readonly spawn: () => WorkerLink;
  /** The maximum number of workers. Each handles one request at a time. */
  readonly size: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Receives the results of declarative validation in workers. */
  readonly report: DeclarativeValidation['report'];
  /** The RBAC rules for the escalation checks of roles; undefined if there are no roles. */
  readonly rules?: RbacRuleSource | undefined;
  readonly metrics: PoolMetrics;
  /** The `group/resource` of the built-in types that workers support. */
  readonly builtins: ReadonlySet<string>;
  /** The maximum number of bytes in queued bodies. Requests beyond it are rejected, except for the first of each user. */
  readonly maxQueuedBytes?: number;
  /** Writes below this weight do not wait for the first worker to load. */
  readonly moderateBytes?: number;
}

const QUEUED_BYTES = 64 << 20;
/** A user leaves one in this many queued bytes to others. */
const RESERVED_DIVISOR = 4;
const IDLE_MILLIS = 60_000;
/** The time that a worker has to stop working on a canceled request. After that it is terminated. */
const CANCEL_GRACE_MILLIS = 10_000;
/** The time for which no second worker is started after one failed to load. */
const START_BACKOFF_MILLIS = 10_000;
const ENDED = 'the request could not be processed within the limits of memory and time';
const OUT_OF_MEMORY_MESSAGE = 'the request needs more memory than is allowed for one request';
/** Calls to this thread take less time than this, unless they wait for the store or a webhook. */
const PROMPT_MILLIS = 250;
/** The maximum number of workers started in addition, to replace those that wait for the store or a webhook. */
const MAX_EXTRA_WORKERS = 4;

/** Reports whether a worker ended because the request needed too much memory. */
const isOutOfMemory = (error: NodeJS.ErrnoException | undefined): boolean => error?.code === 'ERR_WORKER_OUT_OF_MEMORY';

interface Job extends Work {
  readonly id: number;
  readonly queuedAt: number;
  resolve(response: SentResponse): void;
  reject(error: Error): void;
}

interface Worker {
  readonly link: WorkerLink;
  readonly definitions: KnownDefinitions;
  job: Job | undefined;
  /** True while its request waits for a webhook or the store, so that another worker may be started meanwhile. */
  blocked: boolean;
  /** True once it has loaded its program, which takes longer than a request of moderate size. */
  ready: boolean;
  /** Terminates the worker when it is idle for too long, or overdue. */
  timer: Timer | undefined;
}

/** The main thread's side of offloading: passes large requests to workers, and handles the calls that only this thread can answer. */
export class OffloadPool implements Offload {
  readonly expensive = new ExpensiveWrites<ServedVersion>();
  /** The queued requests. Users take turns: one who sends many large writes must not hold up the others. */
  private readonly queue = new FairFlows<Job>({ weigh: ({ bytes }) => bytes });
  private readonly workers = new Set<Worker>();
  private ids = 0;
  private closed = false;
  /** The monotonic time until which no worker is started while another one is loaded. */
  private backoffUntil = 0;

  constructor(private readonly options: PoolOptions) {}

  takes(scope: OffloadScope, weight: number): boolean {
    return this.isOffloadable(scope) && this.shouldOffloadNow(weight);
  }

  private shouldOffloadNow(weight: number): boolean {
    if (this.closed) return false;
    if (weight >= (this.options.moderateBytes ?? OFFLOAD_WAIT_BYTES) || this.hasReadyWorker()) return true;
    // The main thread handles this write sooner than a worker could load. The next one finds the worker loaded.
    if (this.workers.size === 0) this.scheduleIdleTermination(this.start());
    return false;
  }

  private hasReadyWorker(): boolean {
    for (const { ready } of this.workers) if (ready) return true;
    return false;
  }

  private isOffloadable({ served, subresource, context }: OffloadScope): boolean {
    if (this.closed || (subresource !== '' && served.subresources[subresource] === undefined)) return false;
    if (context.info.verb === 'delete' && subresource !== '') return false;
    if (served.definition !== undefined) return true;
    const { group, resource } = served.groupResource;
    return this.options.builtins.has(`${group}/${resource}`);
  }

  async run(scope: OffloadScope, body: Buffer): Promise<void> {
    answer(scope, await this.enqueue(requestWork(scope, body, undefined)));
  }

  async read(scope: OffloadScope, { key, revision, bytes, flags }: StoredObject): Promise<void> {
    answer(scope, await this.enqueue(requestWork(scope, bytes, { key, revision, flags, form: undefined })));
  }

  async item(scope: OffloadScope, { key, revision, bytes, flags }: StoredObject, form: ItemForm): Promise<Uint8Array> {
    return (await this.enqueue(requestWork(scope, bytes, { key, revision, flags, form }))).body;
  }

  /** Describes a group version. */
  async describe(what: Description, gv: OpenApiGroupVersion): Promise<Uint8Array> {
    return (await this.enqueue(await describeWork(what, gv))).body;
  }

  /** Renders a large object in a version that a webhook converts to. Returns undefined if the caller has to do it. */
  show(
    { groupVersion, offloadable }: Parameters<OffloadConversion>[0],
    resource: string,
    cbor: boolean,
    object: CachedObject,
  ): Promise<ConvertedObject> | undefined {
    if (!this.shouldOffloadNow(object.bytes.length)) return undefined;
    return this.enqueue(showWork(offloadable, groupVersion, resource, cbor, object)).then(({ body, attributes }) => {
      if (attributes === undefined) throw new Error('the worker returned no attributes for selectors');
      return { bytes: body, attributes };
    });
  }

  /** Terminates all workers. Queued and running requests fail. */
  close(): void {
    this.closed = true;
    for (let next = this.queue.take(); next !== undefined; next = this.queue.take())
      next.item.reject(newInternalError(ENDED));
    for (const worker of this.workers) worker.link.terminate();
  }

  private enqueue(work: Work): Promise<SentResponse> {
    const { clock, metrics, maxQueuedBytes = QUEUED_BYTES } = this.options;
    const { flow, bytes, signal } = work;
    if (this.closed) return Promise.reject(newInternalError(ENDED));
    signal.throwIfAborted();
    if (!this.hasRoom(flow, bytes, maxQueuedBytes)) {
      metrics.refused();
      throw newTooManyRequests('Too many large requests, please try again later.', 1);
    }
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        this.abandon(job);
        reject(signal.reason as Error);
      };
      const onSettled = (): void => {
        signal.removeEventListener('abort', abandon);
        metrics.observeDuration((clock.monotonic() - job.queuedAt) / 1000);
      };
      const job: Job = {
        ...work,
        id: ++this.ids,
        queuedAt: clock.monotonic(),
        resolve: (response) => {
          onSettled();
          resolve(response);
        },
        reject: (error) => {
          onSettled();
          reject(error);
        },
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.queue.push(flow, job);
      this.next();
    });
  }

  /**
   * Reports whether a request may be queued: within the limit, of which one user leaves a quarter to others. Beyond it, up to twice the
   * limit, a user may queue one request, so that those who fill the queue do not keep the others out.
   */
  private hasRoom(flow: string, bytes: number, limit: number): boolean {
    const { weight } = this.queue;
    const own = this.queue.weightOf(flow);
    if (own === 0) return weight + bytes <= 2 * limit || weight === 0;
    return weight + bytes <= limit && own + bytes <= limit - limit / RESERVED_DIVISOR;
  }

  /** Cancels a job: a queued one is removed, a running one gets some time to stop. */
  private abandon(job: Job): void {
    if (this.queue.remove(job.flow, job)) {
      this.count();
      return;
    }
    for (const worker of this.workers) {
      if (worker.job !== job) continue;
      worker.link.post({ type: 'abort', task: job.id }, []);
      worker.timer = this.options.clock.setTimer(CANCEL_GRACE_MILLIS, () => worker.link.terminate());
    }
  }

  private next(): void {
    while (this.queue.waiting > 0) {
      const worker = this.available(this.maxWorkers());
      if (worker === undefined) break;
      const next = this.queue.take();
      if (next === undefined) break;
      this.assign(worker, next.item);
    }
    this.count();
  }

  /** The current maximum number of workers. Those that only wait are replaced, up to a limit. */
  private maxWorkers(): number {
    let waiting = 0;
    for (const { blocked } of this.workers) if (blocked) waiting++;
    return this.options.size + Math.min(waiting, MAX_EXTRA_WORKERS);
  }

  /** Returns an idle worker, preferably a loaded one. While another worker is loaded, no job waits for one that is not. */
  private available(size: number): Worker | undefined {
    const idle = [...this.workers].filter(({ job }) => job === undefined);
    const loaded = idle.find(({ ready }) => ready);
    if (loaded !== undefined) return loaded;
    if (!this.hasReadyWorker()) return idle[0] ?? (this.workers.size < size ? this.start() : undefined);
    const held = this.options.clock.monotonic() < this.backoffUntil;
    if (idle.length === 0 && this.workers.size < size && !held) this.scheduleIdleTermination(this.start());
    return undefined;
  }

  private count(): void {
    this.options.metrics.setState(this.queue.waiting, this.workers.size);
  }

  private start(): Worker {
    const worker: Worker = {
      link: this.options.spawn(),
      definitions: new KnownDefinitions(),
      job: undefined,
      blocked: false,
      ready: false,
      timer: undefined,
    };
    this.workers.add(worker);
    worker.link.listen(
      (message) => this.onMessage(worker, message),
      (error) => this.onExit(worker, error),
    );
    return worker;
  }

  private onExit(worker: Worker, error: Error | undefined): void {
    this.workers.delete(worker);
    worker.timer?.cancel();
    const { job, ready } = worker;
    if (job !== undefined) this.queue.finish(job.flow);
    if (!ready) this.backoffUntil = this.options.clock.monotonic() + START_BACKOFF_MILLIS;
    if (error !== undefined) this.options.logger.error('offload worker terminated', { error: messageOf(error) });
    job?.reject(isOutOfMemory(error) ? newRequestEntityTooLarge(OUT_OF_MEMORY_MESSAGE) : newInternalError(ENDED));
    if (!this.closed) this.next();
  }

  private assign(worker: Worker, job: Job): void {
    worker.timer?.cancel();
    worker.timer = undefined;
    worker.job = job;
    const message = job.message(job.id, worker.definitions);
    const given = message.type === 'describe' ? message.kinds : [message.body];
    worker.link.post(message, given.flatMap(ownedBuffers));
  }

  private onMessage(worker: Worker, message: FromWorker): void {
    if (message.type === 'ready') {
      worker.ready = true;
      this.next();
      return;
    }
    if (message.type === 'compared') {
      this.options.report(message.report);
      return;
    }
    const { job } = worker;
    if (job?.id !== message.task) return;
    switch (message.type) {
      case 'call':
        void this.answer(worker, job, message.call, message.request);
        return;
      case 'done':
        this.finished(worker);
        job.resolve(message.response);
        return;
      case 'failed':
        this.finished(worker);
        job.reject(deserializeError(message.error));
        return;
      default:
        recordProgress(job.scope?.context, message);
    }
  }

  private finished(worker: Worker): void {
    if (worker.job !== undefined) this.queue.finish(worker.job.flow);
    worker.job = undefined;
    this.scheduleIdleTermination(worker);
    this.next();
  }

  /** Terminates the worker after it has been idle for a while. */
  private scheduleIdleTermination(worker: Worker): void {
    worker.timer?.cancel();
    worker.timer = this.options.clock.setTimer(IDLE_MILLIS, () => worker.link.terminate());
  }

  private resolveCall({ scope, review }: Job, request: Call): Promise<CallResult> {
    if (scope !== undefined) return answerCall(scope, request, this.options.rules);
    if (request.method !== 'review' || review === undefined)
      throw new Error('unexpected call from work that does not belong to a request');
    return review(request.body);
  }

  private async answer(worker: Worker, job: Job, call: number, request: Call): Promise<void> {
    const markBlocked = (): void => {
      worker.blocked = true;
      this.next();
    };
    const timer = this.options.clock.setTimer(PROMPT_MILLIS, markBlocked);
    if (request.method === 'review') markBlocked();
    try {
      const value = await this.resolveCall(job, request);
      worker.link.post({ type: 'answer', call, value }, transferList(value));
    } catch (error) {
      worker.link.post({ type: 'refusal', call, error: serializeError(error) }, []);
    } finally {
      timer.cancel();
      worker.blocked = false;
    }
  }
}

/** Sends the response of a worker to the client. */
function answer(scope: OffloadScope, response: SentResponse): void {
  for (const [name, value] of Object.entries(response.headers)) {
    if (name !== 'content-length') scope.response.setHeader(name, value);
  }
  const type = String(response.headers['content-type'] ?? '');
  sendWhole(
    { request: scope.request, response: scope.response, media: { mediaType: type } },
    response.status,
    response.body,
  );
}
