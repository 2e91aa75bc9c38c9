import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { ADMIN } from '../integration/server.js';

export interface Endpoint {
  readonly url: string;
  readonly ca: string;
}

export interface Reply {
  /** 0 if no response arrived: the outcome is unknown. */
  readonly status: number;
  readonly text: string;
}

interface Question {
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  readonly type?: string;
}

const NO_REPLY: Reply = { status: 0, text: '' };

/** A client of one server, which may be killed and return at another address. Every request has a time limit. */
export class Client {
  private agent: Agent | undefined;
  private known: Endpoint | undefined;

  constructor(private readonly server: () => Endpoint) {}

  /** Sends a request. The promise never rejects. */
  async send(question: Question, millis = 20_000): Promise<Reply> {
    let reply: IncomingMessage | undefined;
    const timer = setTimeout(() => reply?.destroy(), millis);
    try {
      reply = await this.open(question, millis);
      const chunks: Buffer[] = [];
      for await (const chunk of reply) chunks.push(chunk as Buffer);
      if (!reply.complete) return NO_REPLY;
      return { status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
    } catch {
      return NO_REPLY;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the response headers have arrived. */
  open({ method = 'GET', path, body, type }: Question, millis: number): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const endpoint = this.server();
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const headers: Record<string, string> = { authorization: `Bearer ${ADMIN}` };
      if (bytes !== undefined) {
        headers['content-type'] = type ?? 'application/json';
        headers['content-length'] = String(bytes.length);
      }
      const out = request(endpoint.url + path, { method, headers, agent: this.agentOf(endpoint) }, (reply) => {
        clearTimeout(timer);
        resolve(reply);
      });
      const timer = setTimeout(() => out.destroy(new Error('no answer')), millis);
      out.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      out.end(bytes);
    });
  }

  close(): void {
    this.agent?.destroy();
  }

  private agentOf(endpoint: Endpoint): Agent {
    if (this.agent === undefined || this.known?.url !== endpoint.url) {
      this.agent?.destroy();
      this.agent = new Agent({ keepAlive: true, maxSockets: 64, ca: endpoint.ca });
      this.known = endpoint;
    }
    return this.agent;
  }
}
