import { constants, gzip as gzipCallback, gzipSync } from 'node:zlib';
import { promisify } from 'node:util';
import type { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import { Slicer } from '../../scheduling/slicer.js';
import { systemClock } from '../../util/clock.js';
import { type Stopwatch, timed } from '../../util/metrics/stopwatch.js';
import type { AuditRecorder } from '../../request/audit.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const gzip = promisify(gzipCallback);

/** Bodies longer than this many bytes are compressed for clients that accept gzip. */
const gzipThreshold = 128 * 1024;
const gzipLevel = constants.Z_BEST_SPEED;
/** Pieces shorter than this many bytes are joined before they are written. */
const smallPiece = 32 * 1024;
/** Longer pieces are written in parts of this many bytes, which bounds what a connection buffers for a slow reader. */
const largestPiece = 256 * 1024;

/** The destination of the bytes of one response. */
export interface ByteSink {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly media: Pick<NegotiatedMedia, 'mediaType'>;
  /** The feature gate APIResponseCompression. */
  readonly compression: boolean;
  readonly audit: AuditRecorder | undefined;
  /** The user who made the request, whose flow the time slices count against. */
  readonly flow?: string | undefined;
  /** Records the time spent writing. */
  readonly stopwatch?: Stopwatch | undefined;
}

/** Process-wide settings of the response writers. */
export interface WriterOptions {
  /** The feature gate APIResponseCompression. */
  readonly compression: boolean;
  /** The feature gate CBORServingAndStorage. */
  readonly cbor: boolean;
  readonly protobuf: ProtobufCodec;
}

/** Reports whether the client is gone or the response has ended. */
export function isClosed(response: HttpResponse): boolean {
  return response.writableEnded || response.destroyed;
}

function acceptsGzip({ request, compression }: ByteSink): boolean {
  if (!compression) return false;
  const header = request.headers['accept-encoding'];
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  return text !== '' && text.split(',').some((token) => token.trim() === 'gzip');
}

/** The sizes of bodies sent in pieces, which have no Content-Length. */
const streamed = new WeakMap<HttpResponse, { bytes: number }>();

/** Returns the number of body bytes sent, as far as the writers of this file sent them. */
export function bodyBytes(response: HttpResponse): number {
  const whole = response.getHeader('Content-Length');
  return whole === undefined ? (streamed.get(response)?.bytes ?? 0) : Number(whole);
}

/** Sends a whole body. */
export function sendBytes(sink: ByteSink, status: number, bytes: Uint8Array): MaybePromise<void> {
  return sendParts(sink, status, [bytes]);
}

/** Like sendBytes, for a body in parts that the caller need not join. */
export function sendParts(sink: ByteSink, status: number, parts: readonly Uint8Array[]): MaybePromise<void> {
  let length = 0;
  for (const part of parts) length += part.length;
  if (length > gzipThreshold && acceptsGzip(sink)) {
    setGzip(sink.response);
    return gzip(joined(parts, length), { level: gzipLevel }).then((body) => send(sink, status, [body], body.length));
  }
  send(sink, status, parts, length);
}

function send(sink: ByteSink, status: number, parts: readonly Uint8Array[], length: number): void {
  // A body written at once never makes a request slow, so its write is timed only for the audit log.
  if (sink.audit === undefined) sendWholeParts(sink, status, parts, length);
  else timed(sink.stopwatch, 'response-write', () => sendWholeParts(sink, status, parts, length));
}

type Uncompressed = Pick<ByteSink, 'request' | 'response' | 'media'>;

/** Sends a body uncompressed. */
export function sendWhole(sink: Uncompressed, status: number, body: Uint8Array): void {
  sendWholeParts(sink, status, [body], body.length);
}

/** Like sendWhole, for a body in parts of `length` bytes in total. */
function sendWholeParts(
  { request, response, media: { mediaType } }: Uncompressed,
  status: number,
  parts: readonly Uint8Array[],
  length: number,
): void {
  if (isClosed(response)) return;
  response.setHeader('Content-Type', mediaType);
  response.setHeader('Content-Length', length);
  response.writeHead(status);
  if (request.method === 'HEAD') response.end();
  else endWith(response, parts, length);
}

/** Writes the last parts and ends the response. */
function endWith(response: HttpResponse, parts: readonly Uint8Array[], length: number): void {
  if (response.writeParts === undefined) response.end(joined(parts, length));
  else response.writeParts(parts, true);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts, length);
}

function setGzip(response: HttpResponse): void {
  response.setHeader('Content-Encoding', 'gzip');
  const vary = response.getHeader('Vary');
  response.setHeader('Vary', vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`);
}

/** A body in pieces; its middle may already be available compressed. */
export interface Pieces {
  readonly head: Uint8Array;
  readonly middle: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** The middle as gzip members; if absent, the middle is compressed for this response. */
  readonly gzipMiddle?: (() => Iterable<Uint8Array> | AsyncIterable<Uint8Array>) | undefined;
  readonly tail: Uint8Array;
}

/**
 * Sends a body in pieces: a short one at once, a longer one piece by piece as the client reads it. Resolves once the last byte is
 * handed to the transport or the client is gone.
 */
export async function sendPieces(sink: ByteSink, status: number, pieces: Pieces): Promise<void> {
  const { request, response } = sink;
  const iterator = iterate(pieces.middle);
  const first: Uint8Array[] = [pieces.head];
  let length = pieces.head.length + pieces.tail.length;
  let next = await nextOf(iterator);
  while (next.done !== true && length <= gzipThreshold) {
    first.push(next.value);
    length += next.value.length;
    const step = nextOf(iterator);
    next = step instanceof Promise ? await step : step;
  }
  if (next.done === true && length <= gzipThreshold) {
    first.push(pieces.tail);
    send(sink, status, first, length);
    return;
  }
  const compressed = acceptsGzip(sink);
  if (isClosed(response)) return;
  if (compressed) setGzip(response);
  response.setHeader('Content-Type', sink.media.mediaType);
  response.writeHead(status);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  if (!compressed) {
    if (next.done !== true) first.push(next.value);
    await pump(response, first, iterator, pieces.tail, sink);
  } else if (pieces.gzipMiddle === undefined) {
    const rest = compress(chain(first, next, iterator));
    await pump(response, [], rest, gzipMember(pieces.tail), sink);
  } else {
    await pump(response, [gzipMember(pieces.head)], iterate(pieces.gzipMiddle()), gzipMember(pieces.tail), sink);
  }
}

const gzipMember = (bytes: Uint8Array): Uint8Array => gzipSync(bytes, { level: gzipLevel });

type ByteIterator = Iterator<Uint8Array> | AsyncIterator<Uint8Array>;

const nextOf = (iterator: ByteIterator): MaybePromise<IteratorResult<Uint8Array>> => iterator.next();

function iterate(source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): ByteIterator {
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
}

/** Yields the pieces already taken, then the rest. */
async function* chain(
  taken: readonly Uint8Array[],
  next: IteratorResult<Uint8Array>,
  iterator: ByteIterator,
): AsyncGenerator<Uint8Array> {
  yield* taken;
  for (let current = next; current.done !== true; current = await iterator.next()) yield current.value;
}

/** Compresses into gzip members of at least gzipThreshold bytes of input, off the event loop's thread. */
async function* compress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    held.push(piece);
    length += piece.length;
    if (length < gzipThreshold) continue;
    yield await gzip(Buffer.concat(held, length), { level: gzipLevel });
    held = [];
    length = 0;
  }
  if (length > 0) yield await gzip(Buffer.concat(held, length), { level: gzipLevel });
}

/** Writes the pieces already taken, then the rest, joining short ones. Waits whenever the transport is full. */
async function pump(
  response: HttpResponse,
  taken: readonly Uint8Array[],
  source: ByteIterator,
  tail: Uint8Array,
  { stopwatch, flow }: Pick<ByteSink, 'stopwatch' | 'flow'>,
): Promise<void> {
  const slicer = new Slicer(systemClock, flow);
  const sent = { bytes: tail.length };
  streamed.set(response, sent);
  let held = [...taken];
  let length = 0;
  for (const piece of taken) length += piece.length;
  for (;;) {
    if (length >= smallPiece) {
      sent.bytes += length;
      const pending = writeTimed(response, held, length, stopwatch);
      if (pending !== undefined) await pending;
      if (isClosed(response)) return;
      held = [];
      length = 0;
    }
    // Producing the pieces takes CPU time even if the client reads them all at once.
    if (slicer.isExhausted) await slicer.yield();
    const step = nextOf(source);
    // Await only a source that is asynchronous.
    const next = step instanceof Promise ? await step : step;
    if (next.done === true) break;
    held.push(next.value);
    length += next.value.length;
  }
  if (isClosed(response)) return;
  sent.bytes += length;
  held.push(tail);
  endWith(response, held, length + tail.length);
}

/** Writes pieces. A returned promise resolves when the transport takes more. */
function writeTimed(
  response: HttpResponse,
  parts: readonly Uint8Array[],
  length: number,
  watch: Stopwatch | undefined,
): Promise<void> | undefined {
  return timed(watch, 'response-write', () => {
    if (response.writeParts === undefined) return writeInPieces(response, parts, length);
    return response.writeParts(parts) ? undefined : drained(response);
  });
}

/**
 * Joins short pieces. Writes long ones one by one, because copying them costs more than a write, in parts that a connection may
 * buffer for a slow reader.
 */
async function writeInPieces(response: HttpResponse, parts: readonly Uint8Array[], length: number): Promise<void> {
  const isShort = parts.every((part) => part.length < smallPiece);
  for (const piece of isShort ? [joined(parts, length)] : parts) {
    for (let at = 0; at < piece.length && !isClosed(response); at += largestPiece) {
      if (!response.write(piece.subarray(at, at + largestPiece))) await drained(response);
    }
  }
}

/** Resolves when the response drains, or when it closes or fails and never will. */
function drained(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close', 'error']) response.removeListener(event, done);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) response.once(event, done);
  });
}
