import { type IncomingMessage, METHODS } from 'node:http';
import { Duplex } from 'node:stream';

/** Replaces a method that node:http does not know. */
const PLACEHOLDER = 'POST';
const HEAD_END = Buffer.from('\r\n\r\n');
/** A request line: a method that is a token, a target of visible ASCII characters and non-ASCII bytes, and a version of HTTP/1. */
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) (HTTP\/1\.[01])$/;

/**
 * A request that node:http's parser rejects although Go's server accepts it: its method is not in the parser's list, or its
 * target has non-ASCII bytes. It is parsed again from this stream, with a request line that the parser accepts, and its own
 * method and target are restored before it is handled. The connection ends with the response.
 */
export class ReparsedRequest extends Duplex {
  constructor(
    private readonly socket: Duplex,
    readonly method: string,
    /** Non-ASCII bytes are escaped. */
    readonly target: string,
    bytes: Buffer,
  ) {
    super();
    socket.on('end', () => this.push(null));
    socket.on('close', () => this.destroy());
    this.push(bytes);
  }

  /** Adds the bytes that the socket's own parser receives after the error. */
  append(bytes: Buffer): void {
    if (!this.readableEnded && !this.destroyed) this.push(bytes);
  }

  override _read(): void {
    // All bytes received so far have been pushed.
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

/** Returns the bytes that a parser error refers to. */
export function packetOf(error: Error): Buffer | undefined {
  const { rawPacket } = error as ParserError;
  return Buffer.isBuffer(rawPacket) ? rawPacket : undefined;
}

/** Returns the request to parse again. Undefined if Go rejects it too, or if the rejected bytes do not contain its whole head. */
export function reparseRequest(error: Error, socket: Duplex): ReparsedRequest | undefined {
  const packet = packetOf(error);
  const { bytesParsed, code } = error as ParserError;
  if (packet === undefined || typeof bytesParsed !== 'number') return undefined;
  if (code !== 'HPE_INVALID_METHOD' && code !== 'HPE_INVALID_URL') return undefined;
  const start = bytesParsed === 0 ? 0 : packet.lastIndexOf('\n', bytesParsed - 1) + 1;
  // If the target began in earlier bytes, the method is not here.
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
  return new ReparsedRequest(socket, method, escaped, Buffer.concat([line, packet.subarray(lineEnd)]));
}

/** Returns a request whose connection node:http has given away, to be parsed again without the Upgrade header. */
export function withoutUpgrade(request: IncomingMessage, socket: Duplex, rest: Buffer): ReparsedRequest {
  const { method = 'GET', url = '/', httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${value}`);
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return new ReparsedRequest(socket, method, url, Buffer.concat([head, rest]));
}
