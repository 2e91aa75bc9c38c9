import { type JsonObject, objectAt, stringAt } from '../../src/apimachinery/json/json.js';
import { JsonServer } from './json-server.js';

/** The decision of a webhook: a message to deny with, or a JSON patch. */
export type Decision = { readonly deny: string } | { readonly patch: readonly JsonObject[] } | undefined;

/** An admission webhook with its own CA, which records its calls. */
export class Webhook {
  /** One entry per call, as `CREATE widgets name by user`. */
  readonly calls: string[] = [];
  /** The number of calls received, answered or not. */
  asked = 0;
  /** The Authorization header of each call. */
  readonly credentials: (string | undefined)[] = [];
  private readonly server: JsonServer;

  constructor(
    private readonly decide: (request: JsonObject) => Decision,
    /** The Service whose name also reaches the webhook. */
    private readonly service: { readonly namespace: string; readonly name: string },
    /** Runs before each response. */
    before: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.server = new JsonServer('webhook', [`${service.name}.${service.namespace}.svc`], async (review, headers) => {
      this.credentials.push(headers.authorization);
      this.asked++;
      await before();
      return this.answer(review);
    });
  }

  start(port: number): Promise<void> {
    return this.server.start(port);
  }

  stop(): void {
    this.server.stop();
  }

  get connections(): number {
    return this.server.connections;
  }

  get clientConfig(): JsonObject {
    const { caBundle, port } = this.server;
    return { url: `https://127.0.0.1:${port}/admit`, caBundle };
  }

  get serviceConfig(): JsonObject {
    const { caBundle, port } = this.server;
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
