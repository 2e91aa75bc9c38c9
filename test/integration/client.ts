import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import { ADMIN, PATIENCE_MILLIS, type TestServer } from './server.js';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export const treeOf = (answer: { readonly text: string }): JsonObject => JSON.parse(answer.text) as JsonObject;

/** Returns the value at these keys, or undefined if a part of the path is missing. */
export function dig(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue | undefined {
  let at = value;
  for (const key of path) {
    if (Array.isArray(at)) at = at[Number(key)];
    else if (typeof at === 'object' && at !== null) at = at[key];
    else return undefined;
  }
  return at;
}

/** Like dig, for text. Returns '' if there is no text. */
export function digText(value: JsonValue | undefined, ...path: readonly (string | number)[]): string {
  const found = dig(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** Like dig, for a list. Returns an empty list if there is no list. */
export function digList(value: JsonValue | undefined, ...path: readonly (string | number)[]): readonly JsonValue[] {
  const found = dig(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The address of a server, and the CA of its certificate. */
export type Address = Pick<TestServer, 'url' | 'ca'>;

export interface Call {
  readonly method?: string;
  readonly path: string;
  /** Objects are sent as JSON; strings and bytes are sent unchanged. */
  readonly body?: object | string | Buffer;
  /** An empty token makes an anonymous request. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function bodyOf(call: Call): { bytes: Buffer | undefined; type: Record<string, string> } {
  const { body } = call;
  if (body === undefined) return { bytes: undefined, type: {} };
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { bytes, type: { 'content-type': 'application/json', 'content-length': String(bytes.length) } };
}

function headersOf(call: Call, type: Record<string, string>): Record<string, string> {
  const token = call.token ?? ADMIN;
  return { ...(token === '' ? {} : { authorization: `Bearer ${token}` }), ...type, ...call.headers };
}

/** An HTTP/1.1 client with keep-alive connections. */
export class Http1 {
  private readonly agent: Agent;

  constructor(
    private readonly server: Address,
    sockets = 64,
    who: {
      readonly key?: string;
      readonly certificate?: string;
      readonly trusting?: boolean;
      readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3';
    } = {},
  ) {
    const { key, certificate: cert, trusting = false, maxVersion } = who;
    const ca = trusting ? undefined : server.ca;
    const rejectUnauthorized = !trusting;
    this.agent = new Agent({ keepAlive: true, maxSockets: sockets, ca, key, cert, maxVersion, rejectUnauthorized });
    clients.push(() => {
      this.agent.destroy();
    });
  }

  /** Resolves when the response headers have arrived. */
  open(call: Call): Promise<IncomingMessage> {
    const { bytes, type } = bodyOf(call);
    return new Promise((resolve, reject) => {
      const { method = 'GET', path } = call;
      const out = request(
        this.server.url + path,
        { method, agent: this.agent, headers: headersOf(call, type) },
        resolve,
      );
      out.on('error', reject);
      out.end(bytes);
    });
  }

  async send(call: Call): Promise<Answer> {
    const response = await this.open(call);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: Buffer.concat(chunks).toString('utf8'),
    };
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send({ path, headers });
  }

  post(path: string, body: Call['body'] & {}): Promise<Answer> {
    return this.send({ method: 'POST', path, body });
  }
}

/** An HTTP/2 client with one connection. */
export class Http2 {
  readonly session: ClientHttp2Session;

  constructor(server: Address) {
    const options = { ca: server.ca, maxSendHeaderBlockLength: 1 << 21 };
    this.session = connectHttp2(server.url, options);
    this.session.on('error', () => undefined);
    clients.push(() => {
      this.session.destroy();
    });
  }

  stream(call: Call): ClientHttp2Stream {
    const { bytes, type } = bodyOf(call);
    const { method = 'GET', path } = call;
    const stream = this.session.request({ ':method': method, ':path': path, ...headersOf(call, type) });
    stream.end(bytes);
    return stream;
  }

  send(call: Call): Promise<Answer> {
    const stream = this.stream(call);
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let headers: IncomingHttpHeaders & { ':status'?: number } = {};
      stream.on('response', (head) => (headers = head as typeof headers));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('end', () => {
        resolve({ status: headers[':status'] ?? 0, headers, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
  }
}

const clients: (() => void)[] = [];
afterAll(() => {
  for (const close of clients.splice(0)) close();
});

/** Reads the events of a watch. */
export class WatchReader {
  readonly events: JsonObject[] = [];
  ended = false;
  private rest = '';
  private wake: (() => void) | undefined;

  constructor(stream: NodeJS.ReadableStream) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      const lines = (this.rest + text).split('\n');
      this.rest = lines.pop() ?? '';
      for (const line of lines) this.events.push(JSON.parse(line) as JsonObject);
      this.wake?.();
    });
    const over = (): void => {
      this.ended = true;
      this.wake?.();
    };
    stream.on('end', over).on('close', over).on('error', over);
  }

  /** Resolves when `done` returns true. Fails after a time limit. */
  async until(done: (reader: this) => boolean): Promise<void> {
    const end = performance.now() + PATIENCE_MILLIS;
    while (!done(this)) {
      const left = end - performance.now();
      if (left <= 0) throw new Error(`the watch has only ${JSON.stringify(this.events).slice(0, 2000)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}
