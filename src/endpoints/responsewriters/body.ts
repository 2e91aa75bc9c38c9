import { constants, gzip as gzipCallback, gzipSync } from 'node:zlib';
import { promisify } from 'node:util';
import type { ProtobufCodec } from '../../apimachinery/codec/protobuf.js';
import { systemClock } from '../../util/clock.js';
import { type Stopwatch, timed } from '../../util/stopwatch.js';
import type { HttpRequest, HttpResponse } from '../http.js';

const gzip = promisify(gzipCallback);

/** Answers longer than this are compressed for clients that accept it. */
export const gzipThreshold = 128 * 1024;
const gzipLevel = constants.Z_BEST_SPEED;
/** Pieces shorter than this are joined before they are written. */
const smallPiece = 32 * 1024;
/** Longer ones are written in parts: what waits in a connection for slow readers is bounded. */
const largestPiece = 256 * 1024;

/** Longest stretch of making pieces, after which other work gets its turn. */
const sliceMillis = 5;

const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

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

export function acceptsGzip(request: HttpRequest, options: WriterOptions): boolean {
  if (!options.compression) return false;
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

/** Sends a whole body; `watch` takes down how long that takes. */
export function sendBytes(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  mediaType: string,
  bytes: Uint8Array,
  options: WriterOptions,
  watch?: Stopwatch,
): Promise<void> | void {
  if (bytes.length > gzipThreshold && acceptsGzip(request, options)) {
    setGzip(response);
    return gzip(bytes, { level: gzipLevel }).then((body) => {
      send(request, response, status, mediaType, body, watch);
    });
  }
  send(request, response, status, mediaType, bytes, watch);
}

function send(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  mediaType: string,
  body: Uint8Array,
  watch: Stopwatch | undefined,
): void {
  if (watch === undefined) sendWhole(request, response, status, mediaType, body);
  else
    timed(watch, 'response-write', () => {
      sendWhole(request, response, status, mediaType, body);
    });
}

/** Sends a body as it is. */
export function sendWhole(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  mediaType: string,
  body: Uint8Array,
): void {
  if (isClosed(response)) return;
  response.setHeader('Content-Type', mediaType);
  response.setHeader('Content-Length', body.length);
  response.writeHead(status);
  if (request.method === 'HEAD') response.end();
  else response.end(body);
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
  /** The middle as gzip members; where absent, the middle is compressed anew. */
  readonly gzipMiddle?: (() => Iterable<Uint8Array> | AsyncIterable<Uint8Array>) | undefined;
  readonly tail: Uint8Array;
}

/**
 * Sends a body in pieces: at once where it is short, else piece by piece as the client takes them. Resolves when the last byte
 * was handed over or the client is gone.
 */
export async function sendPieces(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  mediaType: string,
  pieces: Pieces,
  options: WriterOptions,
  watch?: Stopwatch,
): Promise<void> {
  const iterator = iterate(pieces.middle);
  const first: Uint8Array[] = [pieces.head];
  let length = pieces.head.length + pieces.tail.length;
  let next = await iterator.next();
  while (next.done !== true && length <= gzipThreshold) {
    first.push(next.value);
    length += next.value.length;
    next = await iterator.next();
  }
  if (next.done === true && length <= gzipThreshold) {
    first.push(pieces.tail);
    await sendBytes(request, response, status, mediaType, Buffer.concat(first, length), options, watch);
    return;
  }
  const compressed = acceptsGzip(request, options);
  if (isClosed(response)) return;
  if (compressed) setGzip(response);
  response.setHeader('Content-Type', mediaType);
  response.writeHead(status);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const rest = chain(first, next, iterator);
  if (!compressed) await pump(response, rest, pieces.tail, watch);
  else if (pieces.gzipMiddle === undefined) await pump(response, compress(rest), gzipMember(pieces.tail), watch);
  else await pump(response, membersAfter(pieces.head, pieces.gzipMiddle()), gzipMember(pieces.tail), watch);
}

const gzipMember = (bytes: Uint8Array): Uint8Array => gzipSync(bytes, { level: gzipLevel });

type ByteIterator = Iterator<Uint8Array> | AsyncIterator<Uint8Array>;

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

async function* membersAfter(
  head: Uint8Array,
  members: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield gzipMember(head);
  yield* members;
}

/** Compresses in members of at least the threshold, off the event loop's thread. */
async function* compress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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

/** Writes pieces, short ones joined, and waits whenever the transport is full. */
async function pump(
  response: HttpResponse,
  source: AsyncIterable<Uint8Array>,
  tail: Uint8Array,
  watch: Stopwatch | undefined,
): Promise<void> {
  let until = systemClock.monotonic() + sliceMillis;
  const sent = { bytes: tail.length };
  streamed.set(response, sent);
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    sent.bytes += piece.length;
    // Long pieces go as they are: to copy them is dearer than a write.
    const long = piece.length >= smallPiece;
    if (!long) {
      held.push(piece);
      length += piece.length;
    }
    // Pieces that must be made first take their time, also where the client takes all of them at once.
    if (systemClock.monotonic() > until) {
      await nextTurn();
      until = systemClock.monotonic() + sliceMillis;
    }
    if (!long && length < smallPiece) continue;
    if (length > 0 && !(await writeParts(response, Buffer.concat(held, length), watch))) return;
    held = [];
    length = 0;
    if (long && !(await writeParts(response, piece, watch))) return;
  }
  if (isClosed(response)) return;
  held.push(tail);
  response.end(Buffer.concat(held, length + tail.length));
}

/** Writes bytes as the client takes them; false where it is gone. */
async function writeParts(response: HttpResponse, bytes: Uint8Array, watch: Stopwatch | undefined): Promise<boolean> {
  for (let at = 0; at < bytes.length; at += largestPiece) {
    if (isClosed(response)) return false;
    const part = bytes.length <= largestPiece ? bytes : bytes.subarray(at, at + largestPiece);
    const pending = timed(watch, 'response-write', () => (response.write(part) ? undefined : drained(response)));
    if (pending !== undefined) await pending;
  }
  return true;
}

/** Resolves when the response takes more or will never do so. */
export function drained(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close', 'error']) response.removeListener(event, done);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) response.once(event, done);
  });
}
