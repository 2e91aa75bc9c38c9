import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, request, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestCa } from './certificates.js';

/** A signing key of a provider. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256';
  readonly privateKey: KeyObject;
}

export function signingKey(kid: string, alg: SigningKey['alg']): SigningKey {
  const { privateKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, alg, privateKey };
}

const jwks = (keys: readonly SigningKey[]): object[] =>
  keys.map(({ kid, alg, privateKey }) => ({ ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' }));

/** Runs the npm package oidc-provider in a separate process: it is an ES module, and a provider is another machine anyway. */
export class OpenIdProvider {
  private constructor(
    private readonly child: ChildProcess,
    readonly issuer: string,
    private readonly lines: AsyncIterator<string>,
  ) {}

  static async start(
    ca: TestCa,
    keys: readonly SigningKey[],
    people: Readonly<Record<string, object>>,
  ): Promise<OpenIdProvider> {
    const options = JSON.stringify({ ...ca.serving(), keys: jwks(keys), people });
    const child = spawn(process.execPath, [join(__dirname, 'provider.mjs'), options], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = await lines.next();
    if (first.done === true) throw new Error('the provider does not start');
    return new OpenIdProvider(child, first.value, lines);
  }

  /** Makes the provider sign with other keys. */
  async replaceKeys(keys: readonly SigningKey[]): Promise<void> {
    this.child.stdin?.write(`${JSON.stringify(jwks(keys))}\n`);
    await this.lines.next();
  }

  stop(): void {
    this.child.kill();
  }
}

interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

/** A user with a browser: follows redirects, keeps cookies, and fills in forms. */
export class Person {
  private readonly cookies = new Map<string, string>();

  constructor(
    private readonly name: string,
    private readonly ca: string,
  ) {}

  /** Logs in at the address of the device flow, and consents to everything. */
  async confirm(address: string): Promise<void> {
    let page = await this.open('GET', address);
    for (let i = 0; i < 8 && page.text.includes('<form'); i++) {
      const form = page.text.slice(page.text.indexOf('<form'));
      const action = attribute(form.slice(0, form.indexOf('>')), 'action') ?? page.url;
      const fields = new URLSearchParams();
      for (const [input] of form.matchAll(/<input[^>]*>/g)) {
        const field = attribute(input, 'name');
        if (field !== undefined) fields.set(field, attribute(input, 'value') ?? this.name);
      }
      page = await this.open('POST', new URL(action, page.url).href, fields.toString());
    }
    if (page.status !== 200) throw new Error(`${page.url} answered ${page.status}: ${page.text.slice(0, 500)}`);
  }

  private async open(method: string, address: string, body?: string): Promise<Page> {
    let [how, url, form] = [method, address, body];
    for (let i = 0; i < 10; i++) {
      const { status, text, location } = await this.send(how, url, form);
      if (location === undefined) return { url, status, text };
      [how, url, form] = ['GET', new URL(location, url).href, undefined];
    }
    throw new Error(`${address} redirects without end`);
  }

  private send(
    method: string,
    url: string,
    body: string | undefined,
  ): Promise<{ status: number; text: string; location: string | undefined }> {
    const { pathname } = new URL(url);
    return new Promise((resolve, reject) => {
      const headers = {
        accept: 'text/html',
        cookie: [...this.cookies.entries()].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      };
      const sent = request(url, { method, headers, ca: this.ca, agent: false }, (response) => {
        for (const cookie of response.headers['set-cookie'] ?? []) this.keep(cookie, pathname);
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, text, location: response.headers.location });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  private keep(cookie: string, _path: string): void {
    const [pair = '', ...attributes] = cookie.split(';');
    const at = pair.indexOf('=');
    const expired = attributes.some((each) => /^\s*expires=Thu, 01 Jan 1970/i.test(each));
    if (expired) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

const attribute = (tag: string, name: string): string | undefined => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];

/** A TLS server with configurable answers, for misbehaving providers. */
export class BadProvider {
  readonly asked: string[] = [];
  private constructor(
    private readonly server: Server,
    readonly issuer: string,
  ) {}

  static async start(
    ca: TestCa,
    respond: (path: string, issuer: string, response: ServerResponse, request: IncomingMessage) => void,
  ): Promise<BadProvider> {
    const { key, certificate } = ca.serving();
    const server = createServer({ key, cert: certificate });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const made = new BadProvider(server, `https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (message, response) => {
      made.asked.push(message.url ?? '');
      respond(message.url ?? '', made.issuer, response, message);
    });
    return made;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Returns a correct discovery document and key set. */
export function wellBehaved(keys: readonly SigningKey[]) {
  return (path: string, issuer: string, response: ServerResponse): void => {
    const publicKeys = jwks(keys).map((jwk) => {
      const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...rest } = jwk as Record<string, unknown>;
      return rest;
    });
    const documents: Record<string, object> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
      '/keys': { keys: publicKeys },
    };
    const document = documents[path];
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  };
}
