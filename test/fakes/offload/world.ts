import { customResourceCodec } from '../../../src/endpoints/handlers/codec/custom-resource.js';
import { MessageChannel } from 'node:worker_threads';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { admissionChain } from '../../../src/admission/chain.js';
import type { AdmissionPlugin } from '../../../src/admission/interfaces.js';
import { loadProtobufCodec } from '../../../src/apimachinery/protobuf/protobuf.js';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { createHandler } from '../../../src/endpoints/handlers/create.js';
import type { HandlerEnvironment, RequestScope } from '../../../src/endpoints/handlers/scope.js';
import { WatchTracker } from '../../../src/endpoints/handlers/watch-tracker.js';
import { noConversion, type ReviewSender } from '../../../src/registry/customresource/conversion/conversion.js';
import { compileDefinition } from '../../../src/registry/customresource/compiled.js';
import { readDefinition } from '../../../src/registry/customresource/definition.js';
import { serveDefinition } from '../../../src/registry/customresource/serve.js';
import { conversionOf } from '../../../src/registry/customresource/conversion/webhook-conversion.js';
import { ResourceStore } from '../../../src/registry/generic/store/resource-store.js';
import type { StoredApi } from '../../../src/registry/generic/store/api-registry.js';
import { encodeRecord, readRecord } from '../../../src/storage/record.js';
import type { StoredObject, WriteRequest, WriteResult } from '../../../src/storage/interfaces.js';
import { FakeClock } from '../util/clock.js';
import { FeatureGates } from '../../../src/util/feature-gates.js';
import { silentLogger } from '../../../src/util/logger.js';
import type { FromWorker, ToWorker } from '../../../src/offload/messages.js';
import { OffloadPool, type WorkerLink } from '../../../src/offload/pool.js';
import { emptyCache } from '../../../src/offload/remote-types.js';
import { TaskRunner } from '../../../src/offload/task-runner.js';
import { NEVER_ABORTED } from '../../../src/util/never-aborted.js';

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        text: { type: 'string', maxLength: 100_000 },
        size: { type: 'integer', default: 3 },
        big: { type: 'integer', format: 'int64' },
      },
      'x-kubernetes-validations': [{ rule: 'self.size < 10', message: 'too many' }],
    },
  },
};
const versionOf = (name: string, storage: boolean): JsonObject => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: schema },
  selectableFields: [{ jsonPath: '.spec.size' }],
});
const definitionOf = (versions: JsonObject[], conversion: JsonObject) =>
  readDefinition({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com', uid: 'u' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions,
      conversion,
    },
  });

const ONE_VERSION = definitionOf([versionOf('v1', true)], { strategy: 'None' });
const CONVERTED = definitionOf([versionOf('v0', true), versionOf('v1', false)], {
  strategy: 'Webhook',
  webhook: { conversionReviewVersions: ['v1'], clientConfig: {} },
});

/** A store of objects by key, with one revision counter. */
class MapBackend {
  readonly objects = new Map<string, StoredObject>();
  readonly requests: WriteRequest[] = [];
  /** Called before each write, which waits for it. */
  before: () => void | Promise<void> = () => undefined;
  private revision = 0;

  get(_resource: string, key: string): Promise<StoredObject | undefined> {
    return Promise.resolve(this.objects.get(key));
  }

  async write(request: WriteRequest): Promise<WriteResult> {
    await this.before();
    this.requests.push(request);
    const { key, expected, value } = request;
    const current = this.objects.get(key);
    if ((current?.revision ?? 0) !== expected || value === undefined) return { outcome: 'conflict', current };
    const revision = ++this.revision;
    const object = { key, revision, ...readRecord(encodeRecord(value, revision)) };
    this.objects.set(key, object);
    return { outcome: 'committed', object };
  }
}

interface Setup {
  readonly plugins?: readonly AdmissionPlugin[];
  readonly maxQueuedBytes?: number;
  readonly moderateBytes?: number;
  readonly size?: number;
  /** True if the worker never processes its messages. */
  readonly stuck?: boolean;
  /** Sends conversion reviews. If set, v1 is converted from and to v0, the storage version. */
  readonly sender?: ReviewSender;
}

const closers: (() => void)[] = [];

/** Closes the ports of all worlds. To be called after each test. */
export function closeAll(): void {
  for (const close of closers.splice(0)) close();
}

export function setup({
  plugins = [],
  maxQueuedBytes,
  moderateBytes = 0,
  size = 1,
  stuck = false,
  sender,
}: Setup = {}) {
  const clock = new FakeClock();
  const backend = new MapBackend();
  const retired = new AbortController();
  const started: {
    terminated: boolean;
    posted: ToWorker[];
    ready(): void;
    fail(error?: Error): void;
    finish(task: number): void;
  }[] = [];
  const spawn = (): WorkerLink => {
    const { port1, port2 } = new MessageChannel();
    const runner = new TaskRunner(port2, clock);
    const state = {
      terminated: false,
      posted: [] as ToWorker[],
      ready: (): void => {
        received({ type: 'ready' });
      },
      finish: (task: number): void => {
        received({ type: 'done', task, response: { status: 200, headers: {}, body: Buffer.from('{}') } });
      },
      fail: (error = new Error('cannot be loaded')): void => {
        ended(error);
      },
    };
    started.push(state);
    let received: (message: FromWorker) => void = () => undefined;
    let ended: (error: Error | undefined) => void = () => undefined;
    port2.on('message', (message: ToWorker) => {
      if (!stuck) runner.receive(message);
    });
    const close = (): void => {
      port1.close();
      port2.close();
    };
    closers.push(close);
    return {
      post: (message, transfer) => {
        state.posted.push(message);
        port1.postMessage(message, [...transfer]);
      },
      listen: (receive, end) => {
        received = receive;
        ended = end;
        port1.on('message', (message: FromWorker) => {
          received(message);
        });
      },
      terminate: () => {
        state.terminated = true;
        close();
        ended(undefined);
      },
    };
  };
  const metrics = { setState: jest.fn(), observeDuration: jest.fn(), refused: jest.fn() };
  const pool = new OffloadPool({
    spawn,
    size,
    moderateBytes,
    clock,
    logger: silentLogger,
    metrics,
    report: () => undefined,
    builtins: new Set(),
    ...(maxQueuedBytes === undefined ? {} : { maxQueuedBytes }),
  });
  const store = new ResourceStore(
    { group: 'example.com', resource: 'things', namespaced: true },
    'things.example.com',
    backend,
    emptyCache('things.example.com'),
    clock,
  );
  const definition = sender === undefined ? ONE_VERSION : CONVERTED;
  const api = serveDefinition({
    compiled: compileDefinition(definition),
    store,
    conversion: sender === undefined ? noConversion : conversionOf(definition, () => sender, { clock }),
    offloadConversion: (served, resource, object) => pool.show(served, resource, false, object),
    terminating: false,
    epoch: 1,
    signal: retired.signal,
    watchCancellation: retired.signal,
    clock,
    cbor: false,
  }).find(({ served }) => served.gvk.version === 'v1');
  const environment: HandlerEnvironment = {
    admission: admissionChain(plugins),
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
    features: new FeatureGates(),
    clock,
    maxRequestBodyBytes: 3 << 20,
    minRequestTimeoutSeconds: 0,
    metrics: {
      requestBodySize: () => undefined,
      watchEvents: () => undefined,
      deprecatedRequested: () => undefined,
      watchStarted: () => () => undefined,
    },
    watches: new WatchTracker(),
    listParameters: [],
    protobuf: loadProtobufCodec(),
    offload: pool,
  };
  return { clock, backend, retired, started, metrics, pool, environment, api: api as StoredApi };
}

export type World = ReturnType<typeof setup>;

export class Answer extends ServerResponse {
  body = '';

  override writeHead(status: number): this {
    this.statusCode = status;
    return this;
  }

  override end(chunk?: unknown): this {
    if (chunk instanceof Uint8Array) this.body = Buffer.from(chunk).toString();
    return this;
  }
}

export const thing = (name: string, spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name, namespace: 'ns', ...metadata },
  spec,
});

export function scopeOf(world: World, verb: 'create' | 'update', name: string, body: string, signal?: AbortSignal) {
  const request = new IncomingMessage(new Socket());
  Object.assign(request, {
    method: verb === 'create' ? 'POST' : 'PUT',
    url: '/apis/example.com/v1/namespaces/ns/things?fieldManager=m',
    headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) },
  });
  request.push(body);
  request.push(null);
  const warnings: string[] = [];
  const { served, storage } = world.api;
  const response = new Answer(request);
  const scope: RequestScope = {
    environment: world.environment,
    context: {
      info: {
        isResourceRequest: true,
        path: '/apis/example.com/v1/namespaces/ns/things',
        verb,
        apiPrefix: 'apis',
        apiGroup: 'example.com',
        apiVersion: 'v1',
        namespace: 'ns',
        resource: 'things',
        subresource: '',
        name: verb === 'create' ? '' : name,
        parts: ['things'],
        fieldSelector: '',
        labelSelector: '',
      },
      user: { name: 'u', uid: '', groups: [], extra: {} },
      userAgent: 'test',
      auditId: 'a',
      signal: signal ?? NEVER_ABORTED,
      cancellation: signal ?? NEVER_ABORTED,
      receivedAt: 0,
      dryRun: false,
      warn: (text) => warnings.push(text),
      annotate: () => undefined,
    },
    request,
    response,
    codec: customResourceCodec,
    served,
    storage,
    subresource: '',
    strategy: served.strategy,
    fieldManager: served.fieldManager,
  };
  return { scope, response, warnings };
}

export async function create(world: World, name: string, spec: JsonObject, signal?: AbortSignal) {
  const made = scopeOf(world, 'create', name, JSON.stringify(thing(name, spec)), signal);
  await createHandler(made.scope);
  return { ...made, status: made.response.statusCode, body: JSON.parse(made.response.body) as JsonObject };
}

export const LONG = 'x'.repeat(70_000);
export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
