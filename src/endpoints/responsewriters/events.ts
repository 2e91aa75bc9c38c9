import { encodeCborEvent } from '../../apimachinery/cbor/cbor.js';
import { encodeWatchEvent, type ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { Status } from '../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { CachedObject, EventFrame, WatchEvent } from '../../storage/cacher/interfaces.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import { bookmarkObject } from './bookmark.js';
import { encodeTree } from './encoders.js';
import { isLargeObject, representationOfItem } from './items.js';
import type { ItemForm, ResponseSink } from './sink.js';
import { jsonBytes, shapeOf } from './shapes.js';
import { parseIncludeObject, resourceVersionOf, tableAround, type TableRows, tableRows, tableTree } from './table.js';

/** How the events of one watch are written. */
export interface EventFrames {
  /** For the first event: only there a Table has its columns. */
  readonly first: AwayFrame;
  /** For every later event. */
  readonly rest: AwayFrame;
  /** An ERROR event. */
  error(status: Status): Uint8Array;
  /**
   * The form that was asked for does not fit watch events (PartialObjectMetadataList): kube-apiserver ends such a watch instead of
   * sending its first event. Nothing must be encoded then.
   */
  readonly impossible: boolean;
}

/** A frame whose bytes another thread can make. */
export interface AwayFrame extends EventFrame {
  /** Whether making it takes so long that it should be made there. */
  isLong(event: WatchEvent): boolean;
  /** What `encoded` gives; undefined: it must be made here. */
  offload(event: WatchEvent): Promise<Uint8Array> | undefined;
}

type Media = Pick<NegotiatedMedia, 'encoding' | 'as' | 'asVersion'>;

/** What making events takes of an answer. */
type EventSink = Pick<ResponseSink, 'media' | 'clock' | 'protobuf' | 'includeObject' | 'offload' | 'conventions'>;

/** Rows with ages are encoded again for watches that begin in another span of this length. */
const ageSpanMillis = 10_000;

/** Puts the type of an event around the encoded object. */
type Framing = (type: string, object: Uint8Array) => Uint8Array;

const jsonHeads = new Map<string, Buffer>();
const jsonTail = Buffer.from('}\n');

function jsonParts(type: string, object: Uint8Array): Uint8Array[] {
  let head = jsonHeads.get(type);
  if (head === undefined) {
    head = Buffer.from(`{"type":${JSON.stringify(type)},"object":`);
    jsonHeads.set(type, head);
  }
  return [head, object, jsonTail];
}

const frameJson: Framing = (type, object) => Buffer.concat(jsonParts(type, object));

/** Makes the frames of a watch. Throws ApiError where `includeObject` is unusable. */
export function eventFrames(view: VersionView, sink: EventSink): EventFrames {
  const { media, protobuf } = sink;
  const error = (status: Status): Uint8Array => framing(media)('ERROR', single(media, status, protobuf));
  if (media.as === 'Table') return { ...tableFrames(view, sink), error, impossible: false };
  const frame = objectFrame(view, sink);
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

function objectFrame(view: VersionView, sink: EventSink): AwayFrame {
  const { media, protobuf, conventions } = sink;
  const shape = shapeOf(view, media);
  const frame = framing(media);
  const { encoding, as, asVersion } = media;
  const form = { encoding, pretty: false, as, asVersion, whole: true };
  const representation = representationOfItem(view, form, protobuf);
  const object = (event: WatchEvent): Uint8Array => {
    if (event.object !== undefined) return event.object.render(representation);
    return single(media, shape.ofObject(bookmarkObject(view, event, conventions)), protobuf);
  };
  const encode = (event: WatchEvent): Uint8Array => frame(event.type, object(event));
  const id = `${representation.id}/event`;
  const written: EventFrame =
    frame === frameJson ? { id, encode, parts: (event) => jsonParts(event.type, object(event)) } : { id, encode };
  return away(written, view, form, sink, (event, object) => frame(event.type, object));
}

function tableFrames(view: VersionView, sink: EventSink): { readonly first: AwayFrame; readonly rest: AwayFrame } {
  const { media, clock } = sink;
  const include = parseIncludeObject(sink.includeObject);
  const rows = tableRows(view, media.asVersion ?? 'v1', include);
  const span = rows.cached === undefined ? `/${Math.floor(clock.now() / ageSpanMillis)}` : '';
  const { as, asVersion } = media;
  /** The end of the initial events is marked by an annotation, so that its metadata is sent even where no objects are wanted. */
  const bookmarkTable = (event: WatchEvent, now: number, columns: boolean): JsonObject => {
    const object = bookmarkObject(view, event, sink.conventions);
    const included = include === 'None' && event.initialEventsEnd ? 'Metadata' : include;
    return tableTree(rows, resourceVersionOf(object), rows.ofObject(object, now, included), columns);
  };
  const frame = (columns: boolean): AwayFrame => {
    const around = ({ type, object }: WatchEvent, row: Uint8Array): Uint8Array =>
      frameJson(type, rowTable(rows, object, columns, row));
    const written: EventFrame = {
      id: `${rows.id}${span}/event${columns ? '-first' : ''}`,
      encode: (event) => {
        const now = clock.now();
        if (event.object !== undefined) return around(event, rows.json(event.object, now));
        return frameJson(event.type, jsonBytes(bookmarkTable(event, now, columns)));
      },
    };
    return away(written, view, { encoding: 'json', pretty: false, as, asVersion }, sink, around);
  };
  return { first: frame(true), rest: frame(false) };
}

/** What is being made by a worker, by frame, so that it is made once however many watch. */
const underway = new WeakMap<WatchEvent, Map<string, Promise<Uint8Array>>>();

/** Adds to a frame how another thread makes it: the object there, what is around it here. */
function away(
  frame: EventFrame,
  view: VersionView,
  form: Omit<ItemForm, 'now' | 'includeObject'>,
  { clock, includeObject, offload }: EventSink,
  around: (event: WatchEvent, object: Uint8Array) => Uint8Array,
): AwayFrame {
  const start = (event: WatchEvent): Promise<Uint8Array> | undefined => {
    const { object } = event;
    if (object === undefined) return undefined;
    return offload?.(object, { ...form, includeObject, now: clock.now() })?.then((bytes) =>
      event.encoded({ id: frame.id, encode: () => around(event, bytes) }),
    );
  };
  return {
    ...frame,
    isLong: (event) =>
      event.object !== undefined &&
      event.kept?.(frame.id) === undefined &&
      offload !== undefined &&
      isLargeObject(event.object, view, form),
    offload: (event) => {
      const others = underway.get(event)?.get(frame.id);
      // What fails for another watch, because that is over, may go well for this one.
      if (others !== undefined) return others.catch(() => start(event) ?? event.encoded(frame));
      return noted(event, frame.id, start(event));
    },
  };
}

function noted(
  event: WatchEvent,
  id: string,
  making: Promise<Uint8Array> | undefined,
): Promise<Uint8Array> | undefined {
  if (making === undefined) return undefined;
  const known = underway.get(event) ?? new Map<string, Promise<Uint8Array>>();
  underway.set(event, known.set(id, making));
  return making.finally(() => known.delete(id));
}

function rowTable(rows: TableRows, object: CachedObject | undefined, columns: boolean, row: Uint8Array): Uint8Array {
  const [head, tail] = tableAround(rows, String(object?.revision ?? ''), columns);
  return Buffer.concat([head, row, tail]);
}
