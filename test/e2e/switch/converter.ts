import { type JsonObject, objectAt, textOf } from '../../../src/apimachinery/json/json.js';
import { JsonServer } from '../json-server.js';

/** A conversion webhook that maps `spec.size` of `v1` to `spec.width` of `v2`. */
export class Converter {
  /** The number of objects converted so far. */
  converted = 0;
  private readonly server = new JsonServer('converter', [], (review) => Promise.resolve(this.answer(review)));

  start(): Promise<void> {
    return this.server.start();
  }

  stop(): void {
    this.server.stop();
  }

  /** The `spec.conversion` of a definition. */
  get conversion(): JsonObject {
    const { caBundle, port } = this.server;
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
