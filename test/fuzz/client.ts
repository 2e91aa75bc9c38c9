import { Agent, request } from 'node:https';

/** A server that requests are sent to. */
export interface Target {
  readonly url: string;
  readonly token: string;
  readonly ca: string;
}

/** A request. `{rv:…}`, `{uid:…}`, `{continue:…}`, and `{ns}` stand for values that only the server knows. */
export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** True if the client ended the response; only watches are cut. */
  readonly cut: boolean;
}

/** Sends requests over HTTP/1.1 on many connections. A response that has not ended after `ruleYieldPoint` milliseconds is cut. */
export class FuzzClient {
  private readonly agent: Agent;

  constructor(
    readonly target: Target,
    private readonly ruleYieldPoint = 2_500,
    sockets = 64,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: sockets, ca: target.ca });
  }

  send(one: FuzzRequest): Promise<FuzzAnswer> {
    const { method, path, body } = one;
    const bytes = body === undefined ? undefined : Buffer.from(body, 'latin1');
    const headers: Record<string, string> = { authorization: `Bearer ${this.target.token}`, ...one.headers };
    if (bytes !== undefined) headers['content-length'] = String(bytes.length);
    return new Promise((resolve, reject) => {
      const out = request(this.target.url + path, { method, path, agent: this.agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        const done = (cut: boolean): void => {
          clearTimeout(timer);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks), cut });
        };
        const timer = setTimeout(() => {
          response.removeAllListeners();
          response.on('error', () => undefined);
          out.destroy();
          done(true);
        }, this.ruleYieldPoint);
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          done(false);
        });
        response.on('error', (error) => {
          clearTimeout(timer);
          reject(error);
        });
      });
      out.on('error', reject);
      out.end(bytes);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
