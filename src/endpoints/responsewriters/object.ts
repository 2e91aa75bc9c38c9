import type { Status } from '../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import { timed } from '../../util/metrics/stopwatch.js';
import { sendBytes, sendParts } from './body.js';
import { encoderOf, encodeTree } from './encoders.js';
import type { ResponseSink } from './sink.js';
import { partialTree, representationOf, shapeOf } from './shapes.js';
import { parseIncludeObject, resourceVersionOf, tableRows, tableTree } from './table.js';

const newline = Buffer.from('\n');

/**
 * Writes one object: a cached one by its bytes, or a decoded one in the version of the view. A Status is never transformed.
 * Throws ApiError before anything is written if the form is impossible.
 */
export function writeObject(
  sink: ResponseSink,
  status: number,
  object: CachedObject | KubeObject,
  view: VersionView,
): MaybePromise<void> {
  const { audit, stopwatch } = sink;
  if (!isCached(object) || sink.media.as === 'Table') {
    const shown = timed(stopwatch, 'transform-response-object', () =>
      transformed(isCached(object) ? view.toObject(object) : object, view, sink),
    );
    return writeTree(sink, status, shown);
  }
  if (audit === undefined) return sendParts(sink, status, cachedParts(object, view, sink));
  return timed(stopwatch, 'serialize-response-object', () => {
    const parts = cachedParts(object, view, sink);
    audit.responseObject(() => transformed(view.toObject(object), view, sink));
    return sendParts(sink, status, parts);
  });
}

/** Writes an object of a create-only kind, such as a review or a token. No Table is offered for these kinds. */
export function writeCreated(sink: ResponseSink, object: KubeObject, gvk: GroupVersionKind): MaybePromise<void> {
  const { as, asVersion = 'v1' } = sink.media;
  if (as === 'PartialObjectMetadataList') throw sink.conventions.newNotListError(gvk);
  return writeTree(sink, 201, as === undefined || isStatus(object) ? object : partialTree(object, asVersion));
}

/** Writes a tree in the negotiated encoding, such as a Status of success. */
export function writeTree(sink: ResponseSink, status: number, shown: JsonObject): MaybePromise<void> {
  return timed(sink.stopwatch, 'serialize-response-object', () => {
    const bytes = encodeTree(sink.media, shown, sink.protobuf);
    note(sink, shown);
    return sendBytes(sink, status, bytes);
  });
}

const isStatus = (object: JsonObject): object is Status => object['kind'] === 'Status' && object['apiVersion'] === 'v1';

function note({ audit }: ResponseSink, object: JsonObject): void {
  if (isStatus(object)) audit?.responseStatus(object);
  else audit?.responseObject(() => object);
}

function isCached(object: CachedObject | KubeObject): object is CachedObject {
  return typeof (object as Partial<CachedObject>).render === 'function';
}

function cachedParts(
  object: CachedObject,
  view: VersionView,
  { media, protobuf, conventions }: ResponseSink,
): readonly Uint8Array[] {
  if (media.as === 'PartialObjectMetadataList') throw conventions.newNotListError(view.type);
  const shape = shapeOf(view, media);
  if (media.encoding !== 'json') return [object.render(representationOf(shape, media, 'whole', protobuf))];
  const json = object.render(shape.whole);
  // The JSON bytes are cached: sending the final newline as a separate part avoids caching or copying them again.
  const encoder = encoderOf(media, protobuf);
  return encoder.id === 'json' ? [json, newline] : [encoder.whole(json, () => shape.tree(object))];
}

function transformed(object: KubeObject, view: VersionView, sink: ResponseSink): JsonObject {
  const { media } = sink;
  if (isStatus(object)) return object;
  if (media.as === 'Table') return tableOf(object, view, sink);
  if (media.as === 'PartialObjectMetadataList') throw sink.conventions.newNotListError(view.type);
  return shapeOf(view, media).ofObject(object);
}

function tableOf(object: KubeObject, view: VersionView, { media, includeObject, clock }: ResponseSink): JsonObject {
  const rows = tableRows(view, media.asVersion ?? 'v1', parseIncludeObject(includeObject));
  return tableTree(rows, resourceVersionOf(object), rows.ofObject(object, clock.now()), rows.columns);
}
