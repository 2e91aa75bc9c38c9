import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { DetachedObject } from '../../registry/generic/loopback/detached-object.js';
import { prepare } from '../../registry/generic/loopback/settled.js';
import type { DeletedCollection } from '../../registry/generic/delete-collection.js';
import type { ListResult } from '../../registry/generic/list.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { StoredObject } from '../../storage/interfaces.js';
import type { HttpResponse } from '../http.js';
import { negotiate, type NegotiatedMedia } from '../negotiation/media.js';
import { writeList } from '../responsewriters/list.js';
import { isLargeObject } from '../responsewriters/items.js';
import { writeObject, writeTree } from '../responsewriters/object.js';
import type { ResponseOptions } from '../responsewriters/options.js';
import { Query } from './request/query.js';
import type { Exchanged, RequestScope } from '../router/scope.js';

/** The form in which an object is wanted. */
export function negotiateObject(scope: RequestScope, query: Query): NegotiatedMedia {
  return negotiated(scope, query, false);
}

/** The form in which a list is wanted. */
export const negotiateList = negotiateObject;

/** The form in which the events of a watch are wanted. */
export function negotiateWatch(scope: RequestScope, query: Query): NegotiatedMedia {
  return negotiated(scope, query, true);
}

/** The form in which an object is wanted that is created and not stored: such kinds have no columns. */
export function negotiateCreated({ context, request, environment }: Exchanged, query: Query): NegotiatedMedia {
  const cbor = environment.features.enabled('CBORServingAndStorage');
  return negotiate(
    request.headers.accept,
    { noProtobuf: false, cbor, transforms: true, noTables: true },
    { pretty: query.string('pretty'), userAgent: context.userAgent },
  );
}

function negotiated(scope: RequestScope, query: Query, watch: boolean): NegotiatedMedia {
  return negotiate(
    scope.request.headers.accept,
    {
      noProtobuf: scope.served.type.noProtobuf === true,
      cbor: scope.environment.features.enabled('CBORServingAndStorage'),
      transforms: true,
      watch,
    },
    { pretty: query.string('pretty'), userAgent: scope.context.userAgent },
  );
}

export function responseOptions(scope: Pick<RequestScope, 'environment'>, query?: Query): ResponseOptions {
  const { features, clock, protobuf } = scope.environment;
  return {
    clock,
    protobuf,
    compression: features.enabled('APIResponseCompression'),
    cbor: features.enabled('CBORServingAndStorage'),
    includeObject: query?.string('includeObject'),
  };
}

/** Answers with what a write stored, or would have stored. */
export function writeWritten(
  scope: RequestScope,
  status: number,
  written: { readonly object: KubeObject; readonly stored: StoredObject | undefined },
  media: NegotiatedMedia,
): Promise<void> | void {
  const { context, request, response, served } = scope;
  const object = written.stored === undefined ? written.object : new DetachedObject(written.stored);
  const query = new Query(request.url ?? '');
  const write = (): Promise<void> | void =>
    writeObject(context, request, response, status, object, served, media, responseOptions(scope, query));
  const prepared = object instanceof DetachedObject ? prepare(served, object, context.audit) : undefined;
  return prepared === undefined ? write() : prepared.then(write);
}

export function writeStored(
  scope: RequestScope,
  status: number,
  object: CachedObject,
  media: NegotiatedMedia,
  query: Query,
): Promise<void> | void {
  const { context, request, response, served } = scope;
  const { offload } = scope.environment;
  const isWanted = request.method !== 'HEAD' && isLargeObject(object, served, media);
  if (isWanted && offload?.takes(scope, object.bytes.length) === true) {
    return offload.read(scope, object);
  }
  return writeObject(context, request, response, status, object, served, media, responseOptions(scope, query));
}

export function writeListResult(
  scope: RequestScope,
  result: ListResult,
  media: NegotiatedMedia,
  query: Query,
): Promise<void> {
  const { context, request, response, served } = scope;
  const metadata = {
    resourceVersion: String(result.list.revision),
    continue: result.continue,
    remainingItemCount: result.remainingItemCount,
  };
  return writeList(context, request, response, result.list, metadata, served, media, {
    offload: offloadItems(scope),
    ...responseOptions(scope, query),
  });
}

/** Has another thread make items and events, where there is one for them; undefined: there is none at all. */
export function offloadItems(scope: RequestScope): ResponseOptions['offload'] {
  const { offload } = scope.environment;
  if (offload === undefined) return undefined;
  return (object, form) => (offload.takes(scope, object.bytes.length) ? offload.item(scope, object, form) : undefined);
}

/** A Status of success that says what it was about. */
export function writeSuccess(
  scope: RequestScope,
  code: number,
  details: JsonObject,
  media: NegotiatedMedia,
  showsCode = code !== 200,
): Promise<void> | void {
  const { context, request, response } = scope;
  const status: KubeObject = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: Object.fromEntries(Object.entries(details).filter(([, value]) => value !== '')),
    ...(showsCode ? { code } : {}),
  };
  return writeTree(context, request, response, code, status, media, responseOptions(scope));
}

/** The objects that a deletecollection deleted, as a list. */
export function writeDeletedCollection(
  scope: RequestScope,
  deleted: DeletedCollection,
  media: NegotiatedMedia,
): Promise<void> {
  const { context, request, response, served } = scope;
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
  return writeList(context, request, response, list, metadata, served, media, {
    ...responseOptions(scope),
    compression: false,
  });
}

/** The plain text with which unknown paths outside of built-in groups are answered. */
export function respondNotFoundText(response: HttpResponse): void {
  response.statusCode = 404;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.end('404 page not found\n');
}
