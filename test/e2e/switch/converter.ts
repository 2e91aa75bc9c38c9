import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type JsonObject, objectAt } from '../../../src/apimachinery/json/json.js';
import { textOf } from '../../../src/apimachinery/json/values.js';
import { createCertificate, generateKey, keyPem } from '../../../src/pki/certificates.js';
import { authority } from '../certificates.js';

const HOUR = 3_600_000;

/** A conversion webhook: what `v1` calls `spec.size` is `spec.width` in `v2`. */
export class Converter {
  /** Objects that it was asked to convert. */
  converted = 0;
  private server: Server | undefined;
  private readonly ca = authority('converter-ca');

  async start(): Promise<void> {
    const { privateKey, publicKey } = generateKey();
    const certificate = {
      subject: { commonName: 'converter' },
      publicKey,
      usage: 'server' as const,
      altNames: ['127.0.0.1'],
      notBefore: Date.now() - HOUR,
      notAfter: Date.now() + 24 * HOUR,
    };
    const cert = createCertificate(certificate, { ...this.ca.issuer, certificate: new X509Certificate(this.ca.pem) });
    this.server = createServer({ key: keyPem(privateKey), cert }, (request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(this.answer(JSON.parse(text) as JsonObject)));
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  /** `spec.conversion` of a definition. */
  get conversion(): JsonObject {
    const { port } = this.server?.address() as AddressInfo;
    const caBundle = Buffer.from(this.ca.pem).toString('base64');
    const clientConfig = { url: `https://127.0.0.1:${port}/convert`, caBundle };
    return { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } };
  }

  private answer({ apiVersion, kind, request }: JsonObject): JsonObject {
    const { uid, desiredAPIVersion, objects } = request as JsonObject;
    const version = textOf(desiredAPIVersion);
    const convertedObjects = (objects as JsonObject[]).map((object) => this.convert(object, version));
    return {
      ...{ apiVersion: apiVersion ?? null, kind: kind ?? null },
      response: { uid: uid ?? null, result: { status: 'Success' }, convertedObjects },
    };
  }

  private convert(object: JsonObject, apiVersion: string): JsonObject {
    this.converted++;
    const { size, width, ...rest } = objectAt(object, 'spec') ?? {};
    const value = size ?? width;
    const name = apiVersion.endsWith('/v2') ? 'width' : 'size';
    return { ...object, apiVersion, spec: { ...rest, ...(value !== undefined && { [name]: value }) } };
  }
}
