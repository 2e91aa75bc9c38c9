import { encodeCborEvent } from '../../apimachinery/codec/cbor.js';
import { encodeWatchEvent, type ProtobufCodec } from '../../apimachinery/codec/protobuf.js';
import type { Status } from '../../apimachinery/errors.js';
import type { JsonObject } from '../../apimachinery/json.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { CachedObject, EventFrame, WatchEvent } from '../../storage/cacher/interfaces.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import { bookmarkObject } from './bookmark.js';
import { encodeTree } from './encoders.js';
import type { ResponseOptions } from './options.js';
import { jsonBytes, representationOf, shapeOf } from './shapes.js';
import { parseIncludeObject, resourceVersionOf, tableAround, type TableRows, tableRows, tableTree } from './table.js';

/** How the events of one watch are written. */
export interface EventFrames {
  /** For the first event: only there a Table has its columns. */
  readonly first: EventFrame;
  /** For every later event. */
  readonly rest: EventFrame;
  /** An ERROR event. */
  error(status: Status): Uint8Array;
  /**
   * The form that was asked for does not fit watch events (PartialObjectMetadataList): kube-apiserver ends such a watch instead of
   * sending its first event. Nothing must be encoded then.
   */
  readonly impossible: boolean;
}

type Media = Pick<NegotiatedMedia, 'encoding' | 'as' | 'asVersion'>;

/** Rows with ages are encoded anew for watches that begin in another span of this length. */
const ageSpanMillis = 10_000;

/** Puts the type of an event around the encoded object. */
type Framing = (type: string, object: Uint8Array) => Uint8Array;

const jsonHeads = new Map<string, Buffer>();
const jsonTail = Buffer.from('}\n');

function frameJson(type: string, object: Uint8Array): Uint8Array {
  let head = jsonHeads.get(type);
  if (head === undefined) {
    head = Buffer.from(`{"type":${JSON.stringify(type)},"object":`);
    jsonHeads.set(type, head);
  }
  return Buffer.concat([head, object, jsonTail]);
}

/** Makes the frames of a watch. Throws ApiError where `includeObject` is unusable. */
export function eventFrames(view: VersionView, media: NegotiatedMedia, options: ResponseOptions): EventFrames {
  const error = (status: Status): Uint8Array => framing(media)('ERROR', single(media, status, options.protobuf));
  if (media.as === 'Table') return { ...tableFrames(view, media, options), error, impossible: false };
  const frame = objectFrame(view, media, options.protobuf);
  return { first: frame, rest: frame, error, impossible: media.as === 'PartialObjectMetadataList' };
}

function framing(media: Media): Framing {
  switch (media.encoding) {
    case 'json':
      return frameJson;
    case 'protobuf':
      return encodeWatchEvent;
    case 'cbor':
      return encodeCborEvent;
    case 'yaml':
      throw new TypeError('a watch cannot be YAML');
  }
}

/** An object inside an event: without the newline that ends a whole answer in JSON. */
function single(media: Media, tree: JsonObject, protobuf: ProtobufCodec): Uint8Array {
  if (media.encoding === 'json') return jsonBytes(tree);
  return encodeTree({ encoding: media.encoding, pretty: false }, tree, protobuf);
}

function objectFrame(view: VersionView, media: Media, protobuf: ProtobufCodec): EventFrame {
  const shape = shapeOf(view, media);
  const frame = framing(media);
  const representation =
    media.encoding === 'json'
      ? shape.whole
      : representationOf(shape, { encoding: media.encoding, pretty: false }, 'whole', protobuf);
  return {
    id: `${representation.id}/event`,
    encode: (event) => {
      if (event.object !== undefined) return frame(event.type, event.object.render(representation));
      const bookmark = bookmarkObject(view, event.revision, event.initialEventsEnd);
      return frame(event.type, single(media, shape.ofObject(bookmark), protobuf));
    },
  };
}

function tableFrames(
  view: VersionView,
  media: NegotiatedMedia,
  options: ResponseOptions,
): { readonly first: EventFrame; readonly rest: EventFrame } {
  const include = parseIncludeObject(options.includeObject);
  const rows = tableRows(view, media.asVersion ?? 'v1', include);
  const span = rows.cached === undefined ? `/${Math.floor(options.clock.now() / ageSpanMillis)}` : '';
  const frame = (columns: boolean): EventFrame => ({
    id: `${rows.id}${span}/event${columns ? '-first' : ''}`,
    encode: (event) => {
      const now = options.clock.now();
      if (event.object !== undefined) return frameJson(event.type, rowTable(rows, event.object, columns, now));
      return frameJson(event.type, jsonBytes(bookmarkTable(view, rows, event, columns, now, include)));
    },
  });
  return { first: frame(true), rest: frame(false) };
}

function rowTable(rows: TableRows, object: CachedObject, columns: boolean, now: number): Uint8Array {
  const [head, tail] = tableAround(rows, String(object.revision), columns);
  return Buffer.concat([head, rows.json(object, now), tail]);
}

/** The end of the initial events is marked by an annotation, so that its metadata is sent even where no objects are wanted. */
function bookmarkTable(
  view: VersionView,
  rows: TableRows,
  event: WatchEvent,
  columns: boolean,
  now: number,
  include: 'None' | 'Metadata' | 'Object',
): JsonObject {
  const object = bookmarkObject(view, event.revision, event.initialEventsEnd);
  const included = include === 'None' && event.initialEventsEnd ? 'Metadata' : include;
  return tableTree(rows, resourceVersionOf(object), rows.ofObject(object, now, included), columns);
}
