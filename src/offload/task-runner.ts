import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { deserialize } from 'node:v8';
import type { MessagePort } from 'node:worker_threads';
import type { AdmissionAttributes, AdmissionChain } from '../admission/interfaces.js';
import { parseJson } from '../apimachinery/json/decode.js';
import { isObject, stringifyJson } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { loadProtobufCodec } from '../apimachinery/protobuf/protobuf.js';
import type { Authorizer } from '../authorization/authorizer/interfaces.js';
import { createHandler } from '../endpoints/handlers/create.js';
import { deleteHandler } from '../endpoints/handlers/delete.js';
import { patchHandler } from '../endpoints/handlers/patch.js';
import { Query } from '../endpoints/handlers/request/query.js';
import { negotiateObject, writeCachedObject } from '../endpoints/handlers/respond.js';
import { builtinCodec } from '../endpoints/handlers/codec/builtin.js';
import { customResourceCodec } from '../endpoints/handlers/codec/custom-resource.js';
import { type HandlerEnvironment, requestScope, type RequestScope } from '../endpoints/handlers/scope.js';
import { updateHandler } from '../endpoints/handlers/update.js';
import { WatchTracker } from '../endpoints/handlers/watch-tracker.js';
import { describe } from '../endpoints/openapi/parts.js';
import type { OpenApiKind, PublishedComponents } from '../endpoints/openapi/source.js';
import { renderItem } from '../endpoints/responsewriters/items.js';
import { DetachedObject } from '../storage/detached-object.js';
import type { StoredApi } from '../registry/generic/store/api-registry.js';
import { conversionOf } from '../registry/customresource/conversion/webhook-conversion.js';
import type { AuditRecorder } from '../request/audit.js';
import type { RequestContext } from '../request/context.js';
import type { WriteRequest, WriteResult } from '../storage/interfaces.js';
import type { Clock } from '../util/clock.js';
import { publishedComponents } from '../endpoints/openapi/served-source.js';
import { featureGates } from '../util/feature-gates.js';
import {
  type CallResult,
  type CallResults,
  type Call,
  type DescribeTask,
  type FromWorker,
  deserializeError,
  ownedBuffers,
  type SentAdmission,
  type SentResponse,
  type ShowTask,
  serializeError,
  type Task,
  type ToWorker,
} from './messages.js';
import { RemoteTypes, type TypeBackend } from './remote-types.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/** Collects the response that a handler writes. */
class CollectedResponse extends ServerResponse {
  readonly chunks: Uint8Array[] = [];

  override writeHead(status: number): this {
    this.statusCode = status;
    return this;
  }

  override end(chunk?: unknown): this {
    if (chunk instanceof Uint8Array) this.chunks.push(chunk);
    return this;
  }

  get body(): Uint8Array {
    return this.chunks.length === 1 ? (this.chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.chunks);
  }
}

interface PendingCall {
  resolve(value: CallResult): void;
  reject(error: Error): void;
}

/**
 * The worker's side of offloading. It runs the handlers of requests, one request at a time, with the store, the admission chain and the
 * authorizer of the main thread. The handlers, and therefore the responses, are the same as there.
 */
export class TaskRunner {
  private readonly pendingCalls = new Map<number, PendingCall>();
  private readonly types: RemoteTypes;
  private published: PublishedComponents | undefined;
  private calls = 0;
  private running: { readonly id: number; readonly abort: AbortController } | undefined;

  constructor(
    private readonly port: Pick<MessagePort, 'postMessage'>,
    private readonly clock: Clock,
  ) {
    this.types = new RemoteTypes(
      this.backend(),
      clock,
      {
        authorizer: this.authorizer(),
        rules: {
          policyRulesFor: (user, namespace) => this.call({ method: 'policyRules', user, namespace }),
          roleRules: (ref, namespace) => this.call({ method: 'roleRules', ref, namespace }),
        },
      },
      (definition) =>
        conversionOf(definition, () => ({ send: (body) => this.call({ method: 'review', body }) }), {
          clock,
          observe: (asked) => this.send({ type: 'converted', task: this.running?.id ?? 0, conversion: asked }),
        }),
      (report) => this.send({ type: 'compared', report }),
    );
  }

  /** Reports that this thread has loaded its program. */
  ready(): void {
    this.send({ type: 'ready' });
  }

  receive(message: ToWorker): void {
    switch (message.type) {
      case 'task':
        void this.run(message.id, (signal) => this.handleRequest(message, signal));
        return;
      case 'show':
        void this.run(message.id, () => this.show(message));
        return;
      case 'describe':
        void this.run(message.id, () => this.describe(message));
        return;
      case 'abort':
        if (this.running?.id === message.task) this.running.abort.abort(new Error('the request has ended'));
        return;
      case 'answer':
        this.settle(message.call)?.resolve(message.value);
        return;
      case 'refusal':
        this.settle(message.call)?.reject(deserializeError(message.error));
    }
  }

  private settle(call: number): PendingCall | undefined {
    const waiting = this.pendingCalls.get(call);
    this.pendingCalls.delete(call);
    return waiting;
  }

  /** Does the work of a task, and sends its response or its error. */
  private async run(id: number, work: (signal: AbortSignal) => MaybePromise<SentResponse>): Promise<void> {
    const abort = new AbortController();
    this.running = { id, abort };
    try {
      const response = await work(abort.signal);
      this.send({ type: 'done', task: id, response }, response.body);
    } catch (error) {
      this.send({ type: 'failed', task: id, error: serializeError(error) });
    } finally {
      this.running = undefined;
    }
  }

  private async handleRequest(task: Task, signal: AbortSignal): Promise<SentResponse> {
    const request = newRequest(task);
    const response = new CollectedResponse(request);
    const scope = this.scope(task, request, response, signal);
    const body = (await respond(scope, task)) ?? response.body;
    const headers: Record<string, string | number | string[]> = {};
    for (const [name, value] of Object.entries(response.getHeaders())) if (value !== undefined) headers[name] = value;
    return { status: response.statusCode, headers, body };
  }

  private async show({ definition, groupVersion, key, revision, flags, body }: ShowTask): Promise<SentResponse> {
    const { served } = this.types.version(definition, groupVersion);
    const object = new DetachedObject({ key, revision, bytes: body, flags });
    await served.prepare?.([object]);
    const attributes = served.type.attributes(served.toObject(object));
    return { status: 200, headers: {}, body: served.json.render(object), attributes };
  }

  private describe({ what, gv, kinds }: DescribeTask): SentResponse {
    this.published ??= publishedComponents();
    const whole = { ...gv, kinds: kinds.map((kind) => deserialize(kind) as OpenApiKind) };
    return { status: 200, headers: {}, body: describe(what, whole, this.published) };
  }

  /** Posts a message. The buffer of `bytes` is transferred instead of copied, if it holds nothing else. */
  private send(message: FromWorker, bytes?: Uint8Array): void {
    this.port.postMessage(message, bytes === undefined ? [] : ownedBuffers(bytes));
  }

  private call<M extends Call['method']>(request: Call & { readonly method: M }): Promise<CallResults[M]> {
    const call = ++this.calls;
    const answer = new Promise<CallResult>((resolve, reject) => {
      this.pendingCalls.set(call, { resolve, reject });
    });
    this.send({ type: 'call', task: this.running?.id ?? 0, call, request });
    return answer as Promise<CallResults[M]>;
  }

  private backend(): TypeBackend {
    return {
      get: (resource, key) => this.call({ method: 'get', resource, key }),
      write: async (type, { resource, key, expected, value }: WriteRequest): Promise<WriteResult> => {
        const sent =
          value === undefined
            ? undefined
            : {
                head: value.head,
                tail: value.tail,
                flags: value.flags,
                attributes: type.attributes(value.object),
              };
        const { committed, object } = await this.call({ method: 'write', resource, key, expected, value: sent });
        return committed && object !== undefined
          ? { outcome: 'committed', object }
          : { outcome: 'conflict', current: object };
      },
    };
  }

  private scope(task: Task, request: IncomingMessage, response: ServerResponse, signal: AbortSignal): RequestScope {
    const { info } = task;
    const { served, storage }: StoredApi = this.types.find(task);
    const part = info.subresource === '' ? served : served.subresources[info.subresource];
    if (part === undefined)
      throw new Error(`this worker does not handle writes of ${info.resource}/${info.subresource}`);
    const codec = task.definition === undefined ? builtinCodec : customResourceCodec;
    const environment = this.environment(task);
    return requestScope({ served, storage }, part, codec, {
      environment,
      context: this.context(task, signal),
      request,
      response,
    });
  }

  private authorizer(): Authorizer {
    return { authorize: (attributes) => this.call({ method: 'authorize', attributes }) };
  }

  private environment({ maxRequestBodyBytes, admission }: Task): HandlerEnvironment {
    const nothing = (): void => undefined;
    return {
      admission: this.admission(admission),
      authorizer: this.authorizer(),
      features: featureGates,
      clock: this.clock,
      maxRequestBodyBytes,
      minRequestTimeoutSeconds: 0,
      // The main thread has already counted the body.
      metrics: {
        requestBodySize: nothing,
        watchEvents: nothing,
        deprecatedRequested: nothing,
        watchStarted: () => nothing,
      },
      watches: new WatchTracker(),
      listParameters: [],
      get protobuf() {
        return loadProtobufCodec();
      },
    };
  }

  private admission({ mutates, reads }: Task['admission']): AdmissionChain {
    const sent = (attributes: AdmissionAttributes): SentAdmission => {
      const { operation, name, namespace, object, oldObject, options, dryRun } = attributes;
      const shown = (tree: KubeObject | undefined): string | undefined =>
        tree === undefined || !reads.includes(operation) ? undefined : stringifyJson(tree);
      return {
        operation,
        name,
        namespace,
        object: shown(object),
        oldObject: shown(oldObject),
        options: stringifyJson(options),
        dryRun,
      };
    };
    return {
      mutates: (operation) => mutates.includes(operation),
      readsObjects: (operation) => reads.includes(operation),
      admit: async (attributes) => {
        const given = sent(attributes);
        const changed = await this.call({ method: 'admit', attributes: given });
        const { object } = attributes;
        if (changed === undefined || object === undefined || changed === given.object) return;
        const tree = parseJson(changed);
        for (const key in object) Reflect.deleteProperty(object, key);
        if (isObject(tree)) Object.assign(object, tree);
        attributes.versions?.onContentsReplaced(object);
      },
      validate: async (attributes) => {
        await this.call({ method: 'validate', attributes: sent(attributes) });
      },
    };
  }

  private context(task: Task, signal: AbortSignal): RequestContext {
    const { id, info, user, userAgent, auditId, receivedAt } = task;
    return {
      info,
      user,
      userAgent,
      auditId,
      receivedAt,
      signal,
      cancellation: signal,
      dryRun: false,
      warn: (text) => this.send({ type: 'warning', task: id, text }),
      annotate: (key, value, level) => this.send({ type: 'annotation', task: id, key, value, level }),
      audit: task.audited ? this.audit(id) : undefined,
      stopwatch: {
        monotonic: () => this.clock.monotonic(),
        record: (layer, millis) => {
          // The main thread has read the body, so it reports that phase itself.
          if (layer !== 'request-read') this.send({ type: 'spent', task: id, layer, millis });
        },
      },
    };
  }

  private audit(task: number): AuditRecorder {
    return {
      // The main thread applies the audit level.
      records: () => true,
      requestObject: (make) => this.send({ type: 'audit', task, what: 'request', text: stringifyJson(make()) }),
      responseObject: (make) => this.send({ type: 'audit', task, what: 'response', text: stringifyJson(make()) }),
      responseStatus: (status) => this.send({ type: 'audit', task, what: 'status', text: stringifyJson(status) }),
    };
  }
}

/** Handles a request by writing its response, or returns the rendered item if that is all that was requested. */
async function respond(scope: RequestScope, { read, body }: Task): Promise<Uint8Array | undefined> {
  if (read === undefined) {
    await handle(scope);
    return undefined;
  }
  const { served, environment } = scope;
  const { key, revision, flags, form } = read;
  const object = new DetachedObject({ key, revision, bytes: body, flags });
  await served.prepare?.([object]);
  if (form !== undefined) return renderItem(object, served, form, environment.protobuf);
  const query = new Query(scope.request.url ?? '');
  await writeCachedObject(scope, negotiateObject(scope, query), object);
  return undefined;
}

function handle(scope: RequestScope): Promise<void> {
  switch (scope.context.info.verb) {
    case 'create':
      return createHandler(scope);
    case 'update':
      return updateHandler(scope);
    case 'patch':
      return patchHandler(scope);
    case 'delete':
      return deleteHandler(scope);
    default:
      throw new Error(`no handler for ${scope.context.info.verb}`);
  }
}

function newRequest({ method, url, headers, body: sent, read }: Task): IncomingMessage {
  const body = read === undefined ? sent : Buffer.alloc(0);
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { method, url, headers: { ...headers, 'content-length': String(body.length) } });
  if (body.length > 0) request.push(body);
  request.push(null);
  return request;
}
