import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';
import type { DeletedCollection, ListResult, WriteResult } from '../../registry/rest/storage.js';
import { ObjectList } from '../../storage/object-list.js';
import { DetachedObject } from '../../storage/detached-object.js';
import { timed } from '../../util/metrics/stopwatch.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { HttpResponse } from '../http.js';
import { negotiate, type NegotiatedMedia } from '../negotiation/media.js';
import { writeList } from '../responsewriters/list.js';
import { builtinConventions } from '../responsewriters/conventions.js';
import { isLargeObject } from '../responsewriters/items.js';
import { writeObject, writeTree } from '../responsewriters/object.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import type { Query } from './request/query.js';
import { isOffloadable, type KindScope, type RoutedRequest, type RequestScope } from './scope.js';
import { isStackOverflow } from '../../util/stack-overflow.js';

/** Negotiates the response to a request for an object. */
export function negotiateObject(scope: KindScope<object>, query: Query): ResponseSink {
  return sinkOf(scope, query, { media: negotiated(scope, query, 'object'), conventions: scope.codec.responses });
}

/** Negotiates the response to a list request. Large items are encoded on a worker thread if one is available. */
export function negotiateList(scope: KindScope<object>, query: Query): ResponseSink {
  return itemSink(scope, query, negotiated(scope, query, 'object'));
}

/** Negotiates the response to a watch. */
export function negotiateWatch(scope: KindScope<object>, query: Query): ResponseSink {
  return itemSink(scope, query, negotiated(scope, query, 'watch'));
}

/** Negotiates the response to a request that creates an object that is not stored. Such kinds have no columns. */
export function negotiateCreated(exchanged: RoutedRequest, query: Query): ResponseSink {
  const { context, request, environment } = exchanged;
  const cbor = environment.features.enabled('CBORServingAndStorage');
  const media = negotiate(
    request.headers.accept,
    { noProtobuf: false, cbor, transforms: true, noTables: true },
    { pretty: query.string('pretty'), userAgent: context.userAgent },
  );
  return sinkOf(exchanged, query, { media, conventions: builtinConventions });
}

function negotiated(scope: KindScope<object>, query: Query, answer: 'object' | 'watch'): NegotiatedMedia {
  return negotiate(
    scope.request.headers.accept,
    {
      noProtobuf: scope.served.type.noProtobuf === true,
      cbor: scope.environment.features.enabled('CBORServingAndStorage'),
      transforms: true,
      watch: answer === 'watch',
    },
    { pretty: query.string('pretty'), userAgent: scope.context.userAgent },
  );
}

const itemSink = (scope: KindScope<object>, query: Query, media: NegotiatedMedia): ResponseSink =>
  sinkOf(scope, query, { media, conventions: scope.codec.responses, offload: offloadItems(scope) });

function sinkOf(
  { context, request, response, environment }: RoutedRequest,
  query: Query,
  { media, conventions, offload }: Pick<ResponseSink, 'media' | 'conventions'> & Partial<ResponseSink>,
): ResponseSink {
  const { features, clock, protobuf } = environment;
  return {
    request,
    response,
    audit: context.audit,
    stopwatch: context.stopwatch,
    flow: context.user.name,
    media,
    conventions,
    clock,
    protobuf,
    compression: features.enabled('APIResponseCompression'),
    includeObject: query.string('includeObject'),
    offload,
  };
}

function offloadItems(scope: KindScope<object>): ResponseSink['offload'] {
  const { offload } = scope.environment;
  if (offload === undefined || !isOffloadable(scope)) return undefined;
  return (object, form, weight = object.bytes.length) =>
    offload.takes(scope, weight) ? offload.item(scope, object, form) : undefined;
}

/** Writes the object that a write stored, or would have stored. */
export function writeMutationResult(
  { served }: RequestScope,
  sink: ResponseSink,
  status: number,
  { object, stored }: WriteResult,
): MaybePromise<void> {
  if (stored === undefined) return writeObject(sink, status, object, served);
  const detached = new DetachedObject(stored);
  const { prepare } = served;
  const prepared =
    prepare === undefined ? undefined : timed(sink.stopwatch, 'decode-response-object', () => prepare([detached]));
  return then(prepared, () => writeObject(sink, status, detached, served));
}

/** Writes a cached object, on a worker thread if encoding it takes long. */
export function writeCachedObject(
  scope: KindScope<object>,
  sink: ResponseSink,
  object: CachedObject,
): MaybePromise<void> {
  const { request, served } = scope;
  const { offload } = scope.environment;
  const isWanted = request.method !== 'HEAD' && isLargeObject(object, served, sink.media);
  if (isWanted && isOffloadable(scope) && offload?.takes(scope, object.bytes.length) === true)
    return offload.read(scope, object);
  try {
    return writeObject(sink, 200, object, served);
  } catch (error) {
    // Nothing has been sent: encoding comes first. The stack of a worker is enough.
    if (!isStackOverflow(error) || !isOffloadable(scope) || offload?.takes(scope, Infinity) !== true) throw error;
    return offload.read(scope, object);
  }
}

export function writeListResult({ served }: KindScope<object>, sink: ResponseSink, result: ListResult): Promise<void> {
  const metadata = {
    resourceVersion: String(result.resourceVersion),
    continue: result.continue,
    remainingItemCount: result.remainingItemCount,
    // In kube-apiserver, lists of custom resources do not show it.
    shard: served.type.custom ? undefined : result.shard,
  };
  return writeList(sink, result.list, metadata, served);
}

/** Writes a Status of success with details. */
export function writeSuccess(
  sink: ResponseSink,
  code: number,
  details: JsonObject,
  { showsCode = code !== 200 } = {},
): MaybePromise<void> {
  const status: KubeObject = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: Object.fromEntries(Object.entries(details).filter(([, value]) => value !== '')),
    ...(showsCode ? { code } : {}),
  };
  return writeTree(sink, code, status);
}

/** Writes the objects that a deletecollection deleted, as a list. */
export function writeDeletedCollection(
  { served }: RequestScope,
  sink: ResponseSink,
  deleted: DeletedCollection,
): Promise<void> {
  const list = new ObjectList(deleted.revision, deleted.items, undefined);
  const metadata = {
    resourceVersion: String(deleted.revision),
    continue: deleted.continue,
    remainingItemCount: deleted.remainingItemCount,
  };
  return writeList({ ...sink, includeObject: undefined, compression: false }, list, metadata, served);
}

/** Writes the plain-text 404 for unknown paths outside the built-in groups. */
export function respondNotFoundText(response: HttpResponse): void {
  response.statusCode = 404;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.end('404 page not found\n');
}
