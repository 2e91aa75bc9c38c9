import { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { createCertificate, generateKey, keyPem } from '../../src/pki/certificates.js';
import { authority } from './certificates.js';

const HOUR = 3_600_000;

type Answer = (body: JsonObject, headers: IncomingHttpHeaders) => Promise<JsonObject>;

/** The HTTPS server of a webhook on loopback, with its own CA. It takes a JSON object and returns a JSON object. */
export class JsonServer {
  /** The number of connections that were made. */
  connections = 0;
  private server: Server | undefined;
  private readonly ca;

  constructor(
    private readonly name: string,
    /** Host names in addition to 127.0.0.1. */
    private readonly hosts: readonly string[],
    private readonly answer: Answer,
  ) {
    this.ca = authority(`${name}-ca`);
  }

  async start(port = 0): Promise<void> {
    const { privateKey, publicKey } = generateKey();
    const certificate = {
      subject: { commonName: this.name },
      publicKey,
      usage: 'server' as const,
      altNames: ['127.0.0.1', ...this.hosts],
      notBefore: Date.now() - HOUR,
      notAfter: Date.now() + 24 * HOUR,
    };
    const cert = createCertificate(certificate, { ...this.ca.issuer, certificate: new X509Certificate(this.ca.pem) });
    this.server = createServer({ key: keyPem(privateKey), cert }, (request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        response.setHeader('Content-Type', 'application/json');
        void this.answer(JSON.parse(text) as JsonObject, request.headers).then((answer) => {
          response.end(JSON.stringify(answer));
        });
      });
    });
    this.server.on('secureConnection', () => this.connections++);
    await new Promise<void>((resolve) => this.server?.listen(port, '127.0.0.1', resolve));
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  get port(): number {
    return (this.server?.address() as AddressInfo).port;
  }

  get caBundle(): string {
    return Buffer.from(this.ca.pem).toString('base64');
  }
}
