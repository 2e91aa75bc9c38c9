import { type ApiError, newInternalError, toApiError } from '../../apimachinery/meta/errors.js';
import type { Watcher } from '../../registry/rest/storage.js';
import { interpretStorageError } from '../../storage/interpret-error.js';
import { parseResourceVersion } from '../../storage/resource-version.js';
import { Slicer, yieldNow } from '../../scheduling/slicer.js';
import type { Watcher as RunningWatch, WatchEvent } from '../../storage/cacher/interfaces.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import { type OffloadableFrame, eventFrames, type EventFrames } from '../responsewriters/events.js';
import { parseIncludeObject } from '../responsewriters/table.js';
import type { HttpResponse } from '../http.js';
import { askedOptions, echoApplied, type ListOptions } from './request/list-options.js';
import { Query } from './request/query.js';
import { negotiateWatch } from './respond.js';
import type { KindScope } from './scope.js';
import { isStackOverflow } from '../../util/stack-overflow.js';

/** The size of the length prefix of each event in Protobuf. */
const LENGTH_BYTES = 4;
/**
 * The size at which a write ends. Over HTTP/1 the connection keeps an encrypted copy of what its client has not read, so this and
 * one object are what a watch whose client does not read takes.
 */
const MAX_WRITE_BYTES = 64 * 1024;
/** The number of events that are looked at for one write while the client reads slowly. */
const MAX_REST_EVENTS = 100;

/** GET on a collection with the verb watch, which the query or the path prefix /watch/ sets. */
export const watchHandler = (scope: KindScope<Watcher>): Promise<void> =>
  serveWatch(scope, new Query(scope.request.url ?? ''));

/** Serves a watch until it times out, the client disconnects, or the client cannot keep up. Resolves when the stream has ended. */
export async function serveWatch(scope: KindScope<Watcher>, query: Query): Promise<void> {
  const { context, served, environment, storage } = scope;
  const sink = negotiateWatch(scope, query);
  const options = askedOptions(scope, query, 'watch');
  const { media } = sink;
  parseResourceVersion(options.resourceVersion);
  if (media.as === 'Table') parseIncludeObject(sink.includeObject);
  if (media.streamError !== undefined) throw media.streamError;
  const seconds = watchSeconds(options, environment.minRequestTimeoutSeconds);
  const frames = eventFrames(served, sink);
  echoApplied(scope, options);
  const response = streamOf(scope.response, media);
  if (response === undefined) return;
  const stream = new WatchStream(scope, response, media, frames);
  if (seconds === 0) {
    stream.ended('closed');
    return;
  }
  const deadline = environment.clock.monotonic() + seconds * 1000;
  const watcher = await storage.watch(context, context.info.namespace, { ...options, deadline }, stream);
  await stream.run(watcher, seconds * 1000);
}

/** Returns the stream for the events: the response, or the messages of a WebSocket. Undefined if the handshake was rejected. */
function streamOf(response: HttpResponse, { encoding }: NegotiatedMedia): HttpResponse | undefined {
  if (response.openMessages === undefined) return response;
  return response.openMessages({ binary: encoding !== 'json', prefix: encoding === 'protobuf' ? LENGTH_BYTES : 0 });
}

/**
 * Returns `timeoutSeconds` (0 if negative), or a random time between the minimum and twice the minimum, so that clients do not
 * all reconnect at once.
 */
function watchSeconds(options: ListOptions, minimum: number): number {
  const asked = options.timeoutSeconds ?? 0;
  if (asked !== 0) return Math.max(0, asked);
  return minimum * (1 + Math.random());
}

/** The response of a watch: writes frames and propagates backpressure. */
class WatchStream {
  private watcher: RunningWatch | undefined;
  private started = false;
  private finish: (() => void) | undefined;
  private over = false;
  /** True while events that take long to encode are being sent. */
  private busy = false;
  /** True once those events are sent, so the watcher can resume. */
  private resumable = false;

  constructor(
    private readonly scope: KindScope<object>,
    private readonly response: HttpResponse,
    private readonly media: NegotiatedMedia,
    private readonly frames: EventFrames,
  ) {}

  receive(events: readonly WatchEvent[]): boolean {
    if (this.over) return true;
    this.begin();
    if (this.frames.isUnsupported) {
      this.end();
      return true;
    }
    try {
      return this.send(events);
    } catch (error) {
      this.fail(toApiError(interpretStorageError(error, 'watch')));
      return true;
    }
  }

  /** Writes events. Those that do not fit into one write follow as the client reads. */
  private send(events: readonly WatchEvent[]): boolean {
    const slicer = events.length > 1 ? new Slicer(this.scope.environment.clock) : undefined;
    let at = 0;
    let writable: boolean;
    do {
      const some = this.writeSome(at === 0 ? events : events.slice(at), slicer);
      at += some.sent;
      ({ writable } = some);
      if (at === events.length) return writable;
      if (some.sent === 0 || this.response.messages === true) break;
    } while (writable && slicer?.isExhausted !== true);
    void this.sendRest(events.slice(at), writable);
    return false;
  }

  /** Encodes events and writes them together, until that takes too long or the write is large. May write none of them. */
  private writeSome(
    events: readonly WatchEvent[],
    slicer: Slicer | undefined,
  ): { readonly sent: number; readonly writable: boolean } {
    const parts: Uint8Array[] = [];
    let sent = 0;
    let bytes = 0;
    for (const event of events) {
      const frame = this.frame();
      if (sent > 0 && (bytes >= MAX_WRITE_BYTES || slicer?.isExhausted === true)) break;
      if (sent > 0 && this.response.messages === true) break;
      if (frame.shouldOffload(event)) break;
      const encoded = event.single === true ? frame.parts?.(event) : undefined;
      const whole = encoded === undefined ? encodedHere(event, frame) : undefined;
      if (encoded === undefined && whole === undefined) break;
      for (const part of encoded ?? (whole === undefined ? [] : [whole])) {
        parts.push(part);
        bytes += part.length;
      }
      this.started = true;
      sent++;
    }
    return { sent, writable: sent === 0 || this.write(parts, sent) };
  }

  /** Sends events as the client reads, each write in a turn of its own. The watcher delivers no others in the meantime. */
  private async sendRest(events: readonly WatchEvent[], writable: boolean): Promise<void> {
    this.busy = true;
    try {
      const { clock } = this.scope.environment;
      let ready = writable;
      for (let at = 0; at < events.length;) {
        if (!ready) await this.drained();
        await yieldNow();
        if (this.isOver()) return;
        const some = this.writeSome(events.slice(at, at + MAX_REST_EVENTS), new Slicer(clock));
        at += some.sent;
        ready = some.writable;
        if (some.sent > 0) continue;
        const bytes = await this.frame().offload(events[at] as WatchEvent);
        if (bytes === undefined) throw newInternalError('the object is nested too deeply');
        if (this.isOver()) return;
        this.started = true;
        at++;
        ready = this.write([bytes], 1);
      }
      if (!ready) await this.drained();
    } catch (error) {
      this.fail(toApiError(interpretStorageError(error, 'watch')));
      return;
    } finally {
      this.busy = false;
    }
    this.resumable = true;
    this.watcher?.resume();
  }

  private frame(): OffloadableFrame {
    return this.started ? this.frames.rest : this.frames.first;
  }

  private isOver(): boolean {
    return this.over;
  }

  /** Resolves when the response drains or the client disconnects. */
  private drained(): Promise<void> {
    const { response } = this;
    return new Promise((resolve) => {
      const done = (): void => {
        response.removeListener('drain', done);
        response.removeListener('close', done);
        resolve();
      };
      response.on('drain', done);
      response.on('close', done);
    });
  }

  private write(parts: readonly Uint8Array[], events: number): boolean {
    const { response, scope } = this;
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    const { served, environment } = scope;
    const { group, version } = served.gvk;
    environment.metrics.watchEvents(group, version, served.groupResource.resource, events, bytes);
    if (response.writeParts !== undefined) return response.writeParts(parts);
    return response.write(parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts));
  }

  ended(reason: 'slow' | 'closed' | Error): void {
    if (reason instanceof Error) this.fail(toApiError(interpretStorageError(reason, 'watch')));
    else {
      this.begin();
      this.end();
    }
  }

  /** Sends an ERROR event and ends the stream. */
  fail(error: ApiError): void {
    if (this.over) return;
    this.begin();
    this.response.write(this.frames.error(error.status));
    this.end();
  }

  /** Streams events until the watch times out, the client disconnects, or the cacher ends the watch. */
  run(watcher: RunningWatch, millis: number): Promise<void> {
    if (this.over) {
      watcher.stop();
      return Promise.resolve();
    }
    this.watcher = watcher;
    if (this.resumable) watcher.resume();
    this.begin();
    const { context, environment } = this.scope;
    return new Promise((resolve) => {
      const timer = environment.clock.setTimer(millis, () => this.end());
      const stop = (): void => this.end();
      const drain = (): void => {
        if (!this.busy) watcher.resume();
      };
      this.response.on('drain', drain);
      this.response.on('close', stop);
      context.signal.addEventListener('abort', stop, { once: true });
      const tracked: { release?: () => unknown } = {};
      const ended = environment.metrics.watchStarted(context);
      this.finish = () => {
        ended();
        timer.cancel();
        tracked.release?.();
        this.response.removeListener('drain', drain);
        this.response.removeListener('close', stop);
        context.signal.removeEventListener('abort', stop);
        resolve();
      };
      tracked.release = environment.watches.add(stop);
      // The client may have left while the watch started.
      if (context.signal.aborted) this.end();
    });
  }

  private begin(): void {
    if (this.response.headersSent) return;
    this.response.statusCode = 200;
    this.response.setHeader('Content-Type', this.media.mediaType);
    this.response.flushHeaders();
  }

  private end(): void {
    if (this.over) return;
    this.over = true;
    this.watcher?.stop();
    this.response.end();
    this.finish?.();
  }
}

/** Encodes an event on this thread. Undefined if it is nested too deeply for the stack. */
function encodedHere(event: WatchEvent, frame: OffloadableFrame): Uint8Array | undefined {
  try {
    return event.encoded(frame);
  } catch (error) {
    if (isStackOverflow(error)) return undefined;
    throw error;
  }
}
