import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { digText } from '../client.js';
import type { TestCa } from '../openid/certificates.js';

/** The delay of an answer about `slow`: longer than the latency that the audit log counts as slow. */
const SLOW_MILLIS = 600;

const ANSWERS: Readonly<Record<string, object>> = {
  allowed: { allowed: true },
  slow: { allowed: true },
  denied: { allowed: false, denied: true, reason: 'not today' },
  none: { allowed: false, reason: 'who knows' },
};

async function read(request: IncomingMessage): Promise<JsonObject> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return JSON.parse(text) as JsonObject;
}

/** A service that receives SubjectAccessReviews and decides by the name of the object. */
export class ReviewWebhook {
  readonly asked: { readonly path: string; readonly query: string; readonly review: JsonObject }[] = [];
  private readonly held: ServerResponse[] = [];

  private constructor(
    private readonly server: Server,
    private readonly ca: TestCa,
  ) {}

  static async start(ca: TestCa): Promise<ReviewWebhook> {
    const { key, certificate } = ca.serving();
    const server = createServer({ key, cert: certificate });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const webhook = new ReviewWebhook(server, ca);
    server.on('request', (request, response) => {
      void webhook.answer(request, response);
    });
    return webhook;
  }

  /** Returns the reviews about an object, at one path or at any. */
  about(name: string, path?: string): readonly JsonObject[] {
    return this.asked
      .filter((item) => (path === undefined || item.path === path) && nameOf(item.review) === name)
      .map(({ review }) => review);
  }

  /** Writes a kubeconfig file that points to this service. */
  kubeconfig(file: string, path: string): string {
    const cluster = {
      server: `https://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`,
      'certificate-authority-data': Buffer.from(this.ca.pem).toString('base64'),
    };
    const document = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    writeFileSync(file, JSON.stringify(document));
    return file;
  }

  /** Ends the requests that hang. */
  release(): void {
    for (const response of this.held.splice(0)) response.destroy();
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const review = await read(request);
    const { pathname, search } = new URL(request.url ?? '', 'https://webhook');
    this.asked.push({ path: pathname, query: search, review });
    const name = nameOf(review);
    if (name === 'hangs') {
      this.held.push(response);
      return;
    }
    if (name === 'slow') await new Promise((resolve) => setTimeout(resolve, SLOW_MILLIS));
    if (name === 'broken') response.writeHead(403).end('go away');
    else if (name === 'garbage') response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":');
    else {
      const status = ANSWERS[name] ?? ANSWERS['none'];
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...review, status }));
    }
  }
}

const nameOf = (review: JsonObject): string =>
  digText(review, 'spec', 'resourceAttributes', 'name') ||
  digText(review, 'spec', 'nonResourceAttributes', 'path').replace(/^\//, '');
