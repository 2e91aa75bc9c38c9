import { ByteCollector } from './byte-collector.js';

const EMPTY = Buffer.alloc(0);
const MAX_HEAD_BYTES = 64 << 10;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;
const CHUNK_SIZE = /^([0-9a-fA-F]{1,8})[ \t]*(?:;|$)/;

type State = 'head' | 'body' | 'size' | 'chunk' | 'chunk-end' | 'trailer' | 'until-end' | 'done';

/** Parses one HTTP/1.1 response from chunks of any size. Methods throw an Error if it is malformed. */
export class ResponseReader {
  status = 0;
  /** Names in lower case; of several headers with the same name, the first one counts. */
  readonly headers = new Map<string, string>();
  /** True if another request may follow on the connection. */
  keepsAlive = true;
  private readonly received = new ByteCollector();
  private state: State = 'head';
  /** Received bytes that cannot be parsed yet. */
  private rest: Buffer = EMPTY;
  /** The number of bytes of the body or the chunk that are still missing. */
  private missing = 0;

  /** `check` throws if a body of this length is too long. */
  constructor(private readonly check: (length: number) => void) {}

  /** Adds received bytes. Returns true if the response is complete. */
  read(bytes: Buffer): boolean {
    this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    while (this.step());
    if (this.state !== 'done') return false;
    // The server sent more than was requested.
    if (this.rest.length > 0) this.keepsAlive = false;
    return true;
  }

  /** Reports whether the end of the connection completes the response. */
  end(): boolean {
    return this.state === 'until-end';
  }

  get started(): boolean {
    return this.status !== 0;
  }

  body(): string {
    return this.received.text();
  }

  /** Parses one part of the response; returns false if it needs more bytes. */
  private step(): boolean {
    switch (this.state) {
      case 'head':
        return this.readHead();
      case 'body':
      case 'until-end':
        return this.readBytes('done');
      case 'size':
        return this.readSize();
      case 'chunk':
        return this.readBytes('chunk-end');
      case 'chunk-end':
        return this.readLine((line) => {
          if (line !== '') throw new Error('malformed chunked encoding');
          this.state = 'size';
        });
      case 'trailer':
        return this.readLine((line) => {
          if (line === '') this.state = 'done';
        });
      default:
        return false;
    }
  }

  private readHead(): boolean {
    const end = this.rest.indexOf('\r\n\r\n');
    if (end < 0) {
      if (this.rest.length > MAX_HEAD_BYTES) throw new Error(`the response header exceeds ${MAX_HEAD_BYTES} bytes`);
      return false;
    }
    const [first = '', ...lines] = this.rest.toString('latin1', 0, end).split('\r\n');
    this.rest = this.rest.subarray(end + 4);
    const [, minor, code] = STATUS_LINE.exec(first) ?? [];
    if (code === undefined) throw new Error(`malformed HTTP response ${JSON.stringify(first)}`);
    const status = Number(code);
    // An interim response, such as 100.
    if (status < 200) {
      if (status === 101) throw new Error('the response switches protocols');
      return true;
    }
    this.status = status;
    for (const line of lines) this.readHeader(line);
    const connection = (this.headers.get('connection') ?? '').toLowerCase();
    this.keepsAlive = minor === '1' ? !connection.includes('close') : connection.includes('keep-alive');
    this.beginBody();
    return true;
  }

  private readHeader(line: string): void {
    const [, name, value = ''] = HEADER.exec(line) ?? [];
    if (name === undefined) throw new Error(`malformed MIME header line: ${line}`);
    const key = name.toLowerCase();
    const known = this.headers.get(key);
    if (known === undefined) this.headers.set(key, value);
    else if (key === 'content-length' && known !== value)
      throw new Error('the response has conflicting Content-Length headers');
  }

  private beginBody(): void {
    const encoding = this.headers.get('transfer-encoding');
    const length = this.headers.get('content-length');
    if (this.status === 204 || this.status === 304) this.state = 'done';
    else if (encoding !== undefined) {
      if (encoding.toLowerCase() !== 'chunked')
        throw new Error(`unsupported transfer encoding: ${JSON.stringify(encoding)}`);
      this.state = 'size';
    } else if (length !== undefined) {
      if (!/^\d{1,15}$/.test(length)) throw new Error(`bad Content-Length ${JSON.stringify(length)}`);
      this.missing = Number(length);
      this.state = this.missing === 0 ? 'done' : 'body';
    } else {
      this.state = 'until-end';
      this.missing = Infinity;
      this.keepsAlive = false;
    }
  }

  private readSize(): boolean {
    return this.readLine((line) => {
      const [, digits] = CHUNK_SIZE.exec(line) ?? [];
      if (digits === undefined) throw new Error('invalid byte in chunk length');
      this.missing = parseInt(digits, 16);
      this.state = this.missing === 0 ? 'trailer' : 'chunk';
    });
  }

  private readBytes(next: State): boolean {
    const piece = this.rest.subarray(0, this.missing);
    if (piece.length === 0) return false;
    this.rest = this.rest.subarray(piece.length);
    this.check(this.received.length + piece.length);
    this.received.add(piece);
    this.missing -= piece.length;
    if (this.missing === 0) this.state = next;
    return true;
  }

  private readLine(take: (line: string) => void): boolean {
    const end = this.rest.indexOf('\r\n');
    if (end < 0) {
      if (this.rest.length > MAX_HEAD_BYTES) throw new Error('header line too long');
      return false;
    }
    const line = this.rest.toString('latin1', 0, end);
    this.rest = this.rest.subarray(end + 2);
    take(line);
    return true;
  }
}
