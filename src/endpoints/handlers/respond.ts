import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';
import { DetachedObject } from '../../registry/generic/loopback/detached-object.js';
import { prepare } from '../../registry/generic/loopback/conversion-retry.js';
import type { DeletedCollection } from '../../registry/generic/delete-collection.js';
import type { ListResult } from '../../registry/generic/list.js';
import { handoverReason } from '../../registry/rest/served.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { StoredObject } from '../../storage/interfaces.js';
import type { HttpResponse } from '../http.js';
import { negotiate, type NegotiatedMedia } from '../negotiation/media.js';
import { writeList } from '../responsewriters/list.js';
import { builtinConventions } from '../responsewriters/conventions.js';
import { isLargeObject } from '../responsewriters/items.js';
import { writeObject, writeTree } from '../responsewriters/object.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import type { Query } from './request/query.js';
import type { RoutedRequest, RequestScope } from '../router/scope.js';
import { isStackOverflow } from '../../util/stack-overflow.js';

/** Negotiates the response to a request for an object. */
export function negotiateObject(scope: RequestScope, query: Query): ResponseSink {
  return sinkOf(scope, query, { media: negotiated(scope, query, 'object'), conventions: scope.codec.responses });
}

/** Negotiates the response to a list request. Large items are encoded on a worker thread if one is available. */
export function negotiateList(scope: RequestScope, query: Query): ResponseSink {
  return itemSink(scope, query, negotiated(scope, query, 'object'));
}

/** Negotiates the response to a watch. */
export function negotiateWatch(scope: RequestScope, query: Query): ResponseSink {
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

function negotiated(scope: RequestScope, query: Query, answer: 'object' | 'watch'): NegotiatedMedia {
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

const itemSink = (scope: RequestScope, query: Query, media: NegotiatedMedia): ResponseSink =>
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

function offloadItems(scope: RequestScope): ResponseSink['offload'] {
  const { offload } = scope.environment;
  if (offload === undefined) return undefined;
  return (object, form, weight = object.bytes.length) =>
    offload.takes(scope, weight) ? offload.item(scope, object, form) : undefined;
}

/** Writes the object that a write stored, or would have stored. */
export function writeMutationResult(
  { served }: RequestScope,
  sink: ResponseSink,
  status: number,
  { object, stored }: { readonly object: KubeObject; readonly stored: StoredObject | undefined },
): MaybePromise<void> {
  if (stored === undefined) return writeObject(sink, status, object, served);
  const detached = new DetachedObject(stored);
  return then(prepare(served, detached, sink.stopwatch), () => writeObject(sink, status, detached, served));
}

/** Writes a cached object, on a worker thread if encoding it takes long. */
export function writeCachedObject(scope: RequestScope, sink: ResponseSink, object: CachedObject): MaybePromise<void> {
  const { request, served } = scope;
  const { offload } = scope.environment;
  const isWanted = request.method !== 'HEAD' && isLargeObject(object, served, sink.media);
  if (isWanted && offload?.takes(scope, object.bytes.length) === true) return offload.read(scope, object);
  try {
    return writeObject(sink, 200, object, served);
  } catch (error) {
    // Nothing has been sent: encoding comes first. The stack of a worker is enough.
    if (!isStackOverflow(error) || offload?.takes(scope, Infinity) !== true) throw error;
    return offload.read(scope, object);
  }
}

export function writeListResult({ served }: RequestScope, sink: ResponseSink, result: ListResult): Promise<void> {
  const { revision } = result.list;
  const { since = revision } = handoverReason(served.definition?.watchCancellation) ?? {};
  const metadata = {
    resourceVersion: String(Math.min(revision, since)),
    continue: result.continue,
    remainingItemCount: result.remainingItemCount,
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
  const { items } = deleted;
  const list = {
    revision: deleted.revision,
    length: items.length,
    lastKey: undefined,
    remaining: undefined,
    items: () => items,
    *chunks(representation: Parameters<CachedObject['render']>[0]): Generator<Uint8Array> {
      const separator = Buffer.from(representation.separator);
      for (let i = 0; i < items.length; i++) {
        if (i > 0 && separator.length > 0) yield separator;
        yield (items[i] as CachedObject).render(representation);
      }
    },
    gzipChunks: (): Iterable<Uint8Array> => [],
  };
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
