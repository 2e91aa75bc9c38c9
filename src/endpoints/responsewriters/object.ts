import type { Status } from '../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { RequestContext } from '../../request/context.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import { timed } from '../../util/metrics/stopwatch.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import { sendBytes, sendParts } from './body.js';
import { encoderOf, encodeTree } from './encoders.js';
import type { ResponseOptions } from './options.js';
import { partialTree, representationOf, shapeOf } from './shapes.js';
import { parseIncludeObject, resourceVersionOf, tableRows, tableTree } from './table.js';
import { newIsNoList } from './transform-errors.js';

const newline = Buffer.from('\n');

/**
 * Answers with one object, in the form that was negotiated: one from the cache, whose bytes are used, or a decoded one in the
 * version of the view. A Status is never transformed. Throws ApiError, before anything is written, where the form is impossible.
 */
export function writeObject(
  context: RequestContext,
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  object: CachedObject | KubeObject,
  view: VersionView,
  media: NegotiatedMedia,
  options: ResponseOptions,
): Promise<void> | void {
  const { audit } = context;
  if (!isCached(object) || media.as === 'Table') {
    const shown = timed(audit, 'transform-response-object', () =>
      transformed(isCached(object) ? view.toObject(object) : object, view, media, options),
    );
    return writeShown(context, request, response, status, shown, media, options);
  }
  if (audit === undefined) {
    return sendParts(request, response, status, media.mediaType, cachedParts(object, view, media, options), options);
  }
  return timed(audit, 'serialize-response-object', () => {
    const parts = cachedParts(object, view, media, options);
    audit.responseObject(() => transformed(view.toObject(object), view, media, options));
    return sendParts(request, response, status, media.mediaType, parts, options, audit);
  });
}

/** Answers with an object of a kind that is only created: reviews, tokens. No Table is offered for them. */
export function writeCreated(
  context: RequestContext,
  request: HttpRequest,
  response: HttpResponse,
  object: KubeObject,
  gvk: GroupVersionKind,
  media: NegotiatedMedia,
  options: ResponseOptions,
): Promise<void> | void {
  if (media.as === 'PartialObjectMetadataList') throw newIsNoList({ ...gvk, custom: false });
  const shown = media.as === undefined || isStatus(object) ? object : partialTree(object, media.asVersion ?? 'v1');
  return writeShown(context, request, response, 201, shown, media, options);
}

/** Answers with a Status of success. */
export function writeTree(
  context: RequestContext,
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  object: KubeObject,
  media: NegotiatedMedia,
  options: ResponseOptions,
): Promise<void> | void {
  return writeShown(context, request, response, status, object, media, options);
}

/** A tree in the form that is wanted. */
function writeShown(
  context: RequestContext,
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  shown: JsonObject,
  media: NegotiatedMedia,
  options: ResponseOptions,
): Promise<void> | void {
  return timed(context.audit, 'serialize-response-object', () => {
    const bytes = encodeTree(media, shown, options.protobuf);
    note(context, shown);
    return sendBytes(request, response, status, media.mediaType, bytes, options, context.audit);
  });
}

const isStatus = (object: JsonObject): object is Status => object['kind'] === 'Status' && object['apiVersion'] === 'v1';
function note({ audit }: RequestContext, object: JsonObject): void {
  if (isStatus(object)) audit?.responseStatus(object);
  else audit?.responseObject(() => object);
}

function isCached(object: CachedObject | KubeObject): object is CachedObject {
  return typeof (object as Partial<CachedObject>).render === 'function';
}

function cachedParts(
  object: CachedObject,
  view: VersionView,
  media: NegotiatedMedia,
  options: ResponseOptions,
): readonly Uint8Array[] {
  if (media.as === 'PartialObjectMetadataList') throw newIsNoList(view.type);
  const shape = shapeOf(view, media);
  if (media.encoding !== 'json') return [object.render(representationOf(shape, media, 'whole', options.protobuf))];
  const json = object.render(shape.whole);
  // The bytes are there already; with the final newline they need be neither kept nor copied a second time.
  const encoder = encoderOf(media, options.protobuf);
  return encoder.id === 'json' ? [json, newline] : [encoder.whole(json, () => shape.tree(object))];
}

function transformed(
  object: KubeObject,
  view: VersionView,
  media: NegotiatedMedia,
  options: ResponseOptions,
): JsonObject {
  if (isStatus(object)) return object;
  if (media.as === 'Table') return tableOf(object, view, media, options);
  if (media.as === 'PartialObjectMetadataList') throw newIsNoList(view.type);
  return shapeOf(view, media).ofObject(object);
}

function tableOf(object: KubeObject, view: VersionView, media: NegotiatedMedia, options: ResponseOptions) {
  const rows = tableRows(view, media.asVersion ?? 'v1', parseIncludeObject(options.includeObject));
  return tableTree(rows, resourceVersionOf(object), rows.ofObject(object, options.clock.now()), true);
}
