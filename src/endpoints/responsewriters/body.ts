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

/** Answers longer than this are compressed for clients that accept it. */
const gzipThreshold = 128 * 1024;
const gzipLevel = constants.Z_BEST_SPEED;
/** Pieces shorter than this are joined before they are written. */
const smallPiece = 32 * 1024;
/** Longer ones are written in parts: what waits in a connection for slow readers is bounded. */
const largestPiece = 256 * 1024;

/** Where the bytes of one answer go. */
export interface ByteSink {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly media: Pick<NegotiatedMedia, 'mediaType'>;
  /** The gate APIResponseCompression. */
  readonly compression: boolean;
  readonly audit: AuditRecorder | undefined;
  /** The user whose request it is. */
  readonly flow?: string | undefined;
  /** Takes down how long it takes to write. */
  readonly stopwatch?: Stopwatch | undefined;
}

/** Settings of the process that writers need. */
export interface WriterOptions {
  /** The gate APIResponseCompression. */
  readonly compression: boolean;
  /** The gate CBORServingAndStorage. */
  readonly cbor: boolean;
  readonly protobuf: ProtobufCodec;
}

/** Whether the client is gone or the answer has been ended. */
export function isClosed(response: HttpResponse): boolean {
  return response.writableEnded || response.destroyed;
}

function acceptsGzip({ request, compression }: ByteSink): boolean {
  if (!compression) return false;
  const header = request.headers['accept-encoding'];
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  return text !== '' && text.split(',').some((token) => token.trim() === 'gzip');
}

/** Bodies that went out in pieces, which have no Content-Length. */
const streamed = new WeakMap<HttpResponse, { bytes: number }>();

/** Bytes of the body that was sent, as far as these writers sent it. */
export function bodyBytes(response: HttpResponse): number {
  const whole = response.getHeader('Content-Length');
  return whole === undefined ? (streamed.get(response)?.bytes ?? 0) : Number(whole);
}

/** Sends a whole body. */
export function sendBytes(sink: ByteSink, status: number, bytes: Uint8Array): MaybePromise<void> {
  return sendParts(sink, status, [bytes]);
}

/** The same for a body in parts, which need not be joined. */
export function sendParts(sink: ByteSink, status: number, parts: readonly Uint8Array[]): MaybePromise<void> {
  let length = 0;
  for (const part of parts) length += part.length;
  if (length > gzipThreshold && acceptsGzip(sink)) {
    setGzip(sink.response);
    return gzip(joined(parts, length), { level: gzipLevel }).then((body) => {
      send(sink, status, [body], body.length);
    });
  }
  send(sink, status, parts, length);
}

function send(sink: ByteSink, status: number, parts: readonly Uint8Array[], length: number): void {
  // What is written at once makes no request slow; the audit log tells of it all the same.
  if (sink.audit === undefined) sendWholeParts(sink, status, parts, length);
  else
    timed(sink.stopwatch, 'response-write', () => {
      sendWholeParts(sink, status, parts, length);
    });
}

type Uncompressed = Pick<ByteSink, 'request' | 'response' | 'media'>;

/** Sends a body as it is. */
export function sendWhole(sink: Uncompressed, status: number, body: Uint8Array): void {
  sendWholeParts(sink, status, [body], body.length);
}

/** The same for a body in parts, of so many bytes together. */
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

/** Writes the last parts. */
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

/** A body in pieces, the middle of which may be at hand compressed. */
export interface Pieces {
  readonly head: Uint8Array;
  readonly middle: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** The middle as gzip members; where absent, the middle is compressed for this response. */
  readonly gzipMiddle?: (() => Iterable<Uint8Array> | AsyncIterable<Uint8Array>) | undefined;
  readonly tail: Uint8Array;
}

/**
 * Sends a body in pieces: at once where it is short, else piece by piece as the client takes them. Resolves when the last byte
 * was handed over or the client is gone.
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

/** What was taken already, then the rest. */
async function* chain(
  taken: readonly Uint8Array[],
  next: IteratorResult<Uint8Array>,
  iterator: ByteIterator,
): AsyncGenerator<Uint8Array> {
  yield* taken;
  for (let current = next; current.done !== true; current = await iterator.next()) yield current.value;
}

/** Compresses in members of at least the threshold, off the event loop's thread. */
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

/** Writes what was taken already and then the rest, short pieces together, and waits whenever the transport is full. */
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
    // Pieces that must be made first take their time, also where the client takes all of them at once.
    if (slicer.isOver) await slicer.yield();
    const step = nextOf(source);
    // A source that has its pieces at hand is not waited for.
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

/** Writes pieces; a promise where the transport is full then. */
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

/** Long pieces are written one by one, in parts that a connection may hold for a slow reader: copying them costs more than a write. */
async function writeInPieces(response: HttpResponse, parts: readonly Uint8Array[], length: number): Promise<void> {
  const isShort = parts.every((part) => part.length < smallPiece);
  for (const piece of isShort ? [joined(parts, length)] : parts) {
    for (let at = 0; at < piece.length && !isClosed(response); at += largestPiece) {
      if (!response.write(piece.subarray(at, at + largestPiece))) await drained(response);
    }
  }
}

/** Resolves when the response takes more or will never do so. */
function drained(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close', 'error']) response.removeListener(event, done);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) response.once(event, done);
  });
}
