import { type IncomingMessage, METHODS } from 'node:http';
import { Duplex } from 'node:stream';

/** Stands for a method that node:http does not know. */
const PLACEHOLDER = 'POST';
const HEAD_END = Buffer.from('\r\n\r\n');
/** A request line: a method that is a token, a target of visible characters and bytes beyond ASCII, a version of HTTP/1. */
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) (HTTP\/1\.[01])$/;

/**
 * A request that node:http's parser refuses although Go's server takes it: with a method that is not on the parser's list, or
 * bytes beyond ASCII in its target. It is read again from this stream, with a request line that the parser takes, and gets its
 * own method and target back before it is handled. The connection ends with the answer.
 */
export class RereadRequest extends Duplex {
  constructor(
    private readonly socket: Duplex,
    readonly method: string,
    /** Bytes beyond ASCII are escaped. */
    readonly target: string,
    bytes: Buffer,
  ) {
    super();
    socket.on('end', () => this.push(null));
    socket.on('close', () => this.destroy());
    this.push(bytes);
  }

  /** What the socket's own parser is given after the error comes here. */
  more(bytes: Buffer): void {
    if (!this.readableEnded && !this.destroyed) this.push(bytes);
  }

  override _read(): void {
    // What there is has been pushed.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.socket.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.socket.destroy();
    callback(error);
  }
}

interface ParserError extends Error {
  readonly code?: unknown;
  readonly bytesParsed?: unknown;
  readonly rawPacket?: unknown;
}

/** The bytes that a parser's error is about. */
export function packetOf(error: Error): Buffer | undefined {
  const { rawPacket } = error as ParserError;
  return Buffer.isBuffer(rawPacket) ? rawPacket : undefined;
}

/** Undefined where the request is none in Go either, or its head is not complete in the bytes in which it was refused. */
export function rereadRequest(error: Error, socket: Duplex): RereadRequest | undefined {
  const packet = packetOf(error);
  const { bytesParsed, code } = error as ParserError;
  if (packet === undefined || typeof bytesParsed !== 'number') return undefined;
  if (code !== 'HPE_INVALID_METHOD' && code !== 'HPE_INVALID_URL') return undefined;
  const start = bytesParsed === 0 ? 0 : packet.lastIndexOf('\n', bytesParsed - 1) + 1;
  // A target that began in earlier bytes has no method before it.
  if (code === 'HPE_INVALID_URL' && !packet.subarray(start, bytesParsed).includes(' ')) return undefined;
  const lineEnd = packet.indexOf('\r\n', start);
  if (lineEnd === -1 || packet.indexOf(HEAD_END, start) === -1) return undefined;
  const match = REQUEST_LINE.exec(packet.toString('latin1', start, lineEnd));
  if (match === null) return undefined;
  const [, method = '', target = '', version = ''] = match;
  if (method === 'CONNECT') return undefined;
  const known = METHODS.includes(method) ? method : PLACEHOLDER;
  const line = Buffer.from(`${known} / ${version}`, 'latin1');
  const escaped = target.replace(/[\x80-\xff]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return new RereadRequest(socket, method, escaped, Buffer.concat([line, packet.subarray(lineEnd)]));
}

/** A request whose connection node:http has given away, read again without the field for which it did. */
export function withoutUpgrade(request: IncomingMessage, socket: Duplex, rest: Buffer): RereadRequest {
  const { method = 'GET', url = '/', httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${value}`);
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return new RereadRequest(socket, method, url, Buffer.concat([head, rest]));
}
