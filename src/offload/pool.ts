import { newInternalError, newRequestEntityTooLarge, newTooManyRequests } from '../apimachinery/meta/errors.js';
import type { Offload, RequestScope } from '../endpoints/router/scope.js';
import type { RbacRuleSource } from '../authorization/rbac/types.js';
import type { Description } from '../endpoints/openapi/parts.js';
import type { OpenApiGroupVersion } from '../endpoints/openapi/source.js';
import type { ItemForm } from '../endpoints/responsewriters/sink.js';
import { sendWhole } from '../endpoints/responsewriters/body.js';
import type { Shown } from '../registry/customresource/view.js';
import type { ServedVersion } from '../registry/rest/served.js';
import type { OffloadShow } from '../registry/customresource/serve-options.js';
import type { CachedObject } from '../storage/cacher/interfaces.js';
import type { StoredObject } from '../storage/interfaces.js';
import type { Clock, Timer } from '../util/clock.js';
import type { Logger } from '../util/logger.js';
import { messageOf } from '../util/error-message.js';
import {
  type Answers,
  type Call,
  type FromWorker,
  receiveError,
  sendError,
  type SentResponse,
  type ToWorker,
} from './messages.js';
import type { PoolMetrics } from './pool-metrics.js';
import type { DeclarativeValidation } from '../registry/builtin/declarative/declared-type.js';
import { ExpensiveWrites } from '../scheduling/expensive-writes.js';
import { OFFLOAD_WAIT_BYTES } from '../scheduling/thresholds.js';
import { answerCall, passOn } from './task-host.js';
import { buffersOf, transferable } from './transfer.js';
import { describeWork, KnownDefinitions, requestWork, showWork, type Work } from './work.js';

/** A worker as the pool sees it. */
export interface WorkerLink {
  post(message: ToWorker, transfer: readonly ArrayBuffer[]): void;
  /** Both are called at most once each before the first message; `ended` once, with the reason where there is one. */
  listen(received: (message: FromWorker) => void, ended: (error: Error | undefined) => void): void;
  terminate(): void;
}

export interface PoolOptions {
  /** Starts a worker; they are made when there is work, and end when there is none for a while. */
  readonly spawn: () => WorkerLink;
  /** Most workers. Each does one request at a time. */
  readonly size: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes what declarative validation finds in workers. */
  readonly report: DeclarativeValidation['report'];
  /** What guards of roles ask; absent where there are no roles. */
  readonly rules?: RbacRuleSource | undefined;
  readonly metrics: PoolMetrics;
  /** `group/resource` of the built-in types that workers know. */
  readonly builtins: ReadonlySet<string>;
  /** Bytes of the bodies that wait; more are refused. */
  readonly maxQueuedBytes?: number;
  /** Writes of less weight do not wait until the first worker is loaded. */
  readonly moderateBytes?: number;
}

const QUEUED_BYTES = 64 << 20;
const IDLE_MILLIS = 60_000;
/** How long a worker may go on with a request that is over; then it is ended. */
const OVERDUE_MILLIS = 10_000;
/** How long no second worker is tried after one that could not be loaded. */
const HOLD_OFF_MILLIS = 10_000;
const ENDED = 'the request could not be processed within the limits of memory and time';
const TOO_LARGE = 'working on it takes more memory than a request may have';
/** What is asked of this thread takes less, unless the store or a webhook keeps it waiting. */
const PROMPT_MILLIS = 250;
/** Workers that are started beside those that wait for somebody else. */
const MOST_WAITING = 4;

/** Whether the request was too much for a worker. */
const hadTooLittleMemory = (error: NodeJS.ErrnoException | undefined): boolean =>
  error?.code === 'ERR_WORKER_OUT_OF_MEMORY';

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
  /** Its request waits for a webhook or the store, so that another worker may work meanwhile. */
  waits: boolean;
  /** It has loaded its program, which takes longer than a request of moderate size. */
  ready: boolean;
  /** Ends it when it is idle, or overdue. */
  timer: Timer | undefined;
}

/** The main thread's side: hands large writes to workers, and does for them what only this thread can do. */
export class OffloadPool implements Offload {
  readonly expensive = new ExpensiveWrites<ServedVersion>();
  private readonly queue: Job[] = [];
  private queuedBytes = 0;
  private readonly workers = new Set<Worker>();
  private ids = 0;
  private closed = false;
  /** Monotonic; until then no worker is started while another one works. */
  private holdOff = 0;

  constructor(private readonly options: PoolOptions) {}

  takes(scope: RequestScope, weight: number): boolean {
    return this.can(scope) && this.takesNow(weight);
  }

  private takesNow(weight: number): boolean {
    if (this.closed) return false;
    if (weight >= (this.options.moderateBytes ?? OFFLOAD_WAIT_BYTES) || this.someReady()) return true;
    // The main thread does it sooner than a worker would be loaded; the next one finds it loaded.
    if (this.workers.size === 0) this.rest(this.start());
    return false;
  }

  private someReady(): boolean {
    for (const { ready } of this.workers) if (ready) return true;
    return false;
  }

  private can({ served, subresource, context }: RequestScope): boolean {
    if (this.closed || (subresource !== '' && served.subresources[subresource] === undefined)) return false;
    if (context.info.verb === 'delete' && subresource !== '') return false;
    if (served.definition !== undefined) return true;
    const { group, resource } = served.groupResource;
    return this.options.builtins.has(`${group}/${resource}`);
  }

  async run(scope: RequestScope, body: Buffer): Promise<void> {
    answer(scope, await this.enqueue(requestWork(scope, body, undefined)));
  }

  async read(scope: RequestScope, { key, revision, bytes, flags }: StoredObject): Promise<void> {
    answer(scope, await this.enqueue(requestWork(scope, bytes, { key, revision, flags, form: undefined })));
  }

  async item(scope: RequestScope, { key, revision, bytes, flags }: StoredObject, form: ItemForm): Promise<Uint8Array> {
    return (await this.enqueue(requestWork(scope, bytes, { key, revision, flags, form }))).body;
  }

  /** A description of a group version. */
  async describe(what: Description, gv: OpenApiGroupVersion): Promise<Uint8Array> {
    return (await this.enqueue(await describeWork(what, gv))).body;
  }

  /** A large object as it is shown in a version that a webhook converts to; undefined: it is to be done here. */
  show(
    { groupVersion, offloadable }: Parameters<OffloadShow>[0],
    resource: string,
    cbor: boolean,
    object: CachedObject,
  ): Promise<Shown> | undefined {
    if (!this.takesNow(object.bytes.length)) return undefined;
    return this.enqueue(showWork(offloadable, groupVersion, resource, cbor, object)).then(({ body, attributes }) => {
      if (attributes === undefined) throw new Error('what selectors look at is missing');
      return { bytes: body, attributes };
    });
  }

  /** Ends all workers; requests that wait or are under way fail. */
  close(): void {
    this.closed = true;
    for (const job of this.queue.splice(0)) job.reject(newInternalError(ENDED));
    for (const worker of this.workers) worker.link.terminate();
  }

  private enqueue(work: Work): Promise<SentResponse> {
    const { clock, metrics, maxQueuedBytes = QUEUED_BYTES } = this.options;
    const { bytes, signal } = work;
    if (this.closed) return Promise.reject(newInternalError(ENDED));
    signal.throwIfAborted();
    if (this.queuedBytes + bytes > maxQueuedBytes && this.queue.length > 0) {
      metrics.refused();
      throw newTooManyRequests('Too many large requests, please try again later.', 1);
    }
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        this.abandon(job);
        reject(signal.reason as Error);
      };
      const over = (): void => {
        signal.removeEventListener('abort', abandon);
        metrics.done((clock.monotonic() - job.queuedAt) / 1000);
      };
      const job: Job = {
        ...work,
        id: ++this.ids,
        queuedAt: clock.monotonic(),
        resolve: (response) => {
          over();
          resolve(response);
        },
        reject: (error) => {
          over();
          reject(error);
        },
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.queue.push(job);
      this.queuedBytes += bytes;
      this.next();
    });
  }

  /** The request is over: what waits is forgotten, what runs gets some time to notice. */
  private abandon(job: Job): void {
    const at = this.queue.indexOf(job);
    if (at >= 0) {
      this.queue.splice(at, 1);
      this.queuedBytes -= job.bytes;
      this.count();
      return;
    }
    for (const worker of this.workers) {
      if (worker.job !== job) continue;
      worker.link.post({ type: 'abort', task: job.id }, []);
      worker.timer = this.options.clock.setTimer(OVERDUE_MILLIS, () => {
        worker.link.terminate();
      });
    }
  }

  private next(): void {
    while (this.queue.length > 0) {
      const worker = this.available(this.most());
      if (worker === undefined) break;
      const job = this.queue.shift();
      if (job === undefined) break;
      this.queuedBytes -= job.bytes;
      this.assign(worker, job);
    }
    this.count();
  }

  /** How many workers there may be: those that only wait are replaced, up to a bound. */
  private most(): number {
    let waiting = 0;
    for (const { waits } of this.workers) if (waits) waiting++;
    return this.options.size + Math.min(waiting, MOST_WAITING);
  }

  /** One without work, best one that is loaded. While another one is loaded, nothing waits for one that is not. */
  private available(size: number): Worker | undefined {
    const idle = [...this.workers].filter(({ job }) => job === undefined);
    const loaded = idle.find(({ ready }) => ready);
    if (loaded !== undefined) return loaded;
    if (!this.someReady()) return idle[0] ?? (this.workers.size < size ? this.start() : undefined);
    const held = this.options.clock.monotonic() < this.holdOff;
    if (idle.length === 0 && this.workers.size < size && !held) this.rest(this.start());
    return undefined;
  }

  private count(): void {
    this.options.metrics.state(this.queue.length, this.workers.size);
  }

  private start(): Worker {
    const worker: Worker = {
      link: this.options.spawn(),
      definitions: new KnownDefinitions(),
      job: undefined,
      waits: false,
      ready: false,
      timer: undefined,
    };
    this.workers.add(worker);
    worker.link.listen(
      (message) => {
        this.received(worker, message);
      },
      (error) => {
        this.ended(worker, error);
      },
    );
    return worker;
  }

  private ended(worker: Worker, error: Error | undefined): void {
    this.workers.delete(worker);
    worker.timer?.cancel();
    const { job, ready } = worker;
    if (!ready) this.holdOff = this.options.clock.monotonic() + HOLD_OFF_MILLIS;
    if (error !== undefined) this.options.logger.error('offload worker terminated', { error: messageOf(error) });
    job?.reject(hadTooLittleMemory(error) ? newRequestEntityTooLarge(TOO_LARGE) : newInternalError(ENDED));
    if (!this.closed) this.next();
  }

  private assign(worker: Worker, job: Job): void {
    worker.timer?.cancel();
    worker.timer = undefined;
    worker.job = job;
    const message = job.message(job.id, worker.definitions);
    const given = message.type === 'describe' ? message.kinds : [message.body];
    worker.link.post(message, given.flatMap(buffersOf));
  }

  private received(worker: Worker, message: FromWorker): void {
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
        job.reject(receiveError(message.error));
        return;
      default:
        passOn(job.scope?.context, message);
    }
  }

  private finished(worker: Worker): void {
    worker.job = undefined;
    this.rest(worker);
    this.next();
  }

  /** It ends when nothing comes for a while. */
  private rest(worker: Worker): void {
    worker.timer?.cancel();
    worker.timer = this.options.clock.setTimer(IDLE_MILLIS, () => {
      worker.link.terminate();
    });
  }

  private valueOf({ scope, review }: Job, request: Call): Promise<Answers[keyof Answers]> {
    if (scope !== undefined) return answerCall(scope, request, this.options.rules);
    if (request.method !== 'review' || review === undefined) throw new Error('only requests ask');
    return review(request.body);
  }

  private async answer(worker: Worker, job: Job, call: number, request: Call): Promise<void> {
    const waits = (): void => {
      worker.waits = true;
      this.next();
    };
    const timer = this.options.clock.setTimer(PROMPT_MILLIS, waits);
    if (request.method === 'review') waits();
    try {
      const value = await this.valueOf(job, request);
      worker.link.post({ type: 'answer', call, value }, transferable(value));
    } catch (error) {
      worker.link.post({ type: 'refusal', call, error: sendError(error) }, []);
    } finally {
      timer.cancel();
      worker.waits = false;
    }
  }
}

/** Sends what a worker answers. */
function answer(scope: RequestScope, response: SentResponse): void {
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
