import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type JsonObject, objectAt, stringAt } from '../../src/apimachinery/json/json.js';
import { createCertificate, generateKey, keyPem } from '../../src/pki/certificates.js';
import { authority } from './certificates.js';

const HOUR = 3_600_000;

/** What a webhook decides: refuses with a message, or answers with a JSON patch. */
export type Decision = { readonly deny: string } | { readonly patch: readonly JsonObject[] } | undefined;

/** An admission webhook with a certificate of a CA of its own; it notes who asked for what. */
export class Webhook {
  /** `CREATE widgets name by user`, one a call. */
  readonly calls: string[] = [];
  /** Calls that have arrived, answered or not. */
  asked = 0;
  /** The Authorization header of each call. */
  readonly credentials: (string | undefined)[] = [];
  private server: Server | undefined;
  private readonly ca = authority('webhook-ca');

  constructor(
    private readonly decide: (request: JsonObject) => Decision,
    /** The Service under whose name it is called, too. */
    private readonly service: { readonly namespace: string; readonly name: string },
    /** What answers wait for. */
    private readonly before: () => Promise<void> = () => Promise.resolve(),
  ) {}

  async start(port: number): Promise<void> {
    const { privateKey, publicKey } = generateKey();
    const certificate = {
      subject: { commonName: 'webhook' },
      publicKey,
      usage: 'server' as const,
      altNames: ['127.0.0.1', `${this.service.name}.${this.service.namespace}.svc`],
      notBefore: Date.now() - HOUR,
      notAfter: Date.now() + 24 * HOUR,
    };
    const cert = createCertificate(certificate, { ...this.ca.issuer, certificate: new X509Certificate(this.ca.pem) });
    this.server = createServer({ key: keyPem(privateKey), cert }, (request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        this.credentials.push(request.headers.authorization);
        this.asked++;
        response.setHeader('Content-Type', 'application/json');
        void this.before().then(() => {
          response.end(JSON.stringify(this.answer(JSON.parse(text) as JsonObject)));
        });
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(port, '127.0.0.1', resolve));
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  get clientConfig(): JsonObject {
    const { port } = this.server?.address() as AddressInfo;
    return { url: `https://127.0.0.1:${port}/admit`, caBundle: Buffer.from(this.ca.pem).toString('base64') };
  }

  get serviceConfig(): JsonObject {
    const { port } = this.server?.address() as AddressInfo;
    const { caBundle } = this.clientConfig;
    return { service: { ...this.service, port, path: '/admit' }, caBundle };
  }

  private answer(review: JsonObject): JsonObject {
    const request = objectAt(review, 'request') ?? {};
    const resource = stringAt(objectAt(request, 'resource'), 'resource') ?? '';
    const user = stringAt(objectAt(request, 'userInfo'), 'username') ?? '';
    this.calls.push(
      `${stringAt(request, 'operation') ?? ''} ${resource} ${stringAt(request, 'name') ?? ''} by ${user}`,
    );
    const decision = this.decide(request);
    const { apiVersion, kind } = review;
    const uid = request['uid'];
    if (decision === undefined) return { apiVersion, kind, response: { uid, allowed: true } };
    if ('deny' in decision)
      return { apiVersion, kind, response: { uid, allowed: false, status: { message: decision.deny } } };
    const patch = Buffer.from(JSON.stringify(decision.patch)).toString('base64');
    return { apiVersion, kind, response: { uid, allowed: true, patchType: 'JSONPatch', patch } };
  }
}
