import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { encodeCborEvent } from '../../apimachinery/cbor/cbor.js';
import { encodeWatchEvent, type ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { Status } from '../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { CachedObject, EventFrame, WatchEvent } from '../../storage/cacher/interfaces.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import type { ResponseConventions } from './conventions.js';
import { encodeTree } from './encoders.js';
import { isLargeObject, representationOfItem } from './items.js';
import type { ItemForm, ResponseSink } from './sink.js';
import { jsonBytes, shapeOf } from './shapes.js';
import {
  type ColumnDefinitions,
  parseIncludeObject,
  resourceVersionOf,
  tableAround,
  type TableRows,
  tableRows,
  tableTree,
} from './table.js';

/** The encodings of one watch's events. */
export interface EventFrames {
  /** For the first event, the only one whose Table has column definitions. */
  readonly first: OffloadableFrame;
  /** For every later event. */
  readonly rest: OffloadableFrame;
  /** Encodes an ERROR event. */
  error(status: Status): Uint8Array;
  /**
   * True if the requested form does not fit watch events (PartialObjectMetadataList): kube-apiserver ends such a watch instead of
   * sending its first event. Nothing must be encoded then.
   */
  readonly isUnsupported: boolean;
}

/** A frame that a worker thread can encode. */
export interface OffloadableFrame extends EventFrame {
  /** Reports whether encoding the event takes long enough to be done on a worker thread. */
  shouldOffload(event: WatchEvent): boolean;
  /** Encodes the event on a worker thread, with the result of `encoded`; undefined if it must be encoded on this thread. */
  offload(event: WatchEvent): Promise<Uint8Array> | undefined;
}

type Media = Pick<NegotiatedMedia, 'encoding' | 'as' | 'asVersion'>;

/** The parts of a response sink needed to encode events. */
type EventSink = Pick<ResponseSink, 'media' | 'clock' | 'protobuf' | 'includeObject' | 'offload' | 'conventions'>;

/** Milliseconds. Watches that begin in the same span share the encoded rows with ages. */
const ageSpanMillis = 10_000;

/** Wraps an encoded object in a watch event of the given type. */
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

/** Creates the frames of a watch. Throws ApiError if `includeObject` is invalid. */
export function eventFrames(view: VersionView, sink: EventSink): EventFrames {
  const { media, protobuf } = sink;
  const error = (status: Status): Uint8Array => framing(media)('ERROR', single(media, status, protobuf));
  if (media.as === 'Table') return { ...tableFrames(view, sink), error, isUnsupported: false };
  const frame = objectFrame(view, sink);
  return { first: frame, rest: frame, error, isUnsupported: media.as === 'PartialObjectMetadataList' };
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
      throw new TypeError('watch events cannot be encoded as YAML');
  }
}

/** Encodes an object inside an event, without the newline that ends a whole JSON response. */
function single(media: Media, tree: JsonObject, protobuf: ProtobufCodec): Uint8Array {
  if (media.encoding === 'json') return jsonBytes(tree);
  return encodeTree({ encoding: media.encoding, pretty: false }, tree, protobuf);
}

function objectFrame(view: VersionView, sink: EventSink): OffloadableFrame {
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
  return offloadable(written, view, form, sink, (event, object) => frame(event.type, object));
}

function tableFrames(
  view: VersionView,
  sink: EventSink,
): { readonly first: OffloadableFrame; readonly rest: OffloadableFrame } {
  const { media, clock } = sink;
  const include = parseIncludeObject(sink.includeObject);
  const rows = tableRows(view, media.asVersion ?? 'v1', include);
  const span = rows.cached === undefined ? `/${Math.floor(clock.now() / ageSpanMillis)}` : '';
  const { as, asVersion } = media;
  /** An annotation marks the bookmark that ends the initial events, so its metadata is sent even with includeObject=None. */
  const bookmarkTable = (event: WatchEvent, now: number, columns: ColumnDefinitions): JsonObject => {
    const object = bookmarkObject(view, event, sink.conventions);
    const included = include === 'None' && event.initialEventsEnd ? 'Metadata' : include;
    return tableTree(rows, resourceVersionOf(object), rows.ofObject(object, now, included), columns);
  };
  const frame = (columns: ColumnDefinitions): OffloadableFrame => {
    const around = ({ type, object }: WatchEvent, row: Uint8Array): Uint8Array =>
      frameJson(type, rowTable(rows, object, columns, row));
    const written: EventFrame = {
      id: `${rows.id}${span}/event${columns === null ? '' : '-first'}`,
      encode: (event) => {
        const now = clock.now();
        if (event.object !== undefined) return around(event, rows.json(event.object, now));
        return frameJson(event.type, jsonBytes(bookmarkTable(event, now, columns)));
      },
    };
    return offloadable(written, view, { encoding: 'json', pretty: false, as, asVersion }, sink, around);
  };
  return { first: frame(rows.columns), rest: frame(null) };
}

/** Encodings in progress on worker threads, by frame ID, so that an event is encoded once for any number of watchers. */
const inFlightEncodings = new WeakMap<WatchEvent, Map<string, Promise<Uint8Array>>>();

/** Lets a worker thread encode a frame: the worker encodes the object, and this thread wraps it with `around`. */
function offloadable(
  frame: EventFrame,
  view: VersionView,
  form: Omit<ItemForm, 'now' | 'includeObject'>,
  { clock, includeObject, offload }: EventSink,
  around: (event: WatchEvent, object: Uint8Array) => Uint8Array,
): OffloadableFrame {
  const start = (event: WatchEvent): Promise<Uint8Array> | undefined => {
    const { object } = event;
    if (object === undefined) return undefined;
    // A small object is offloaded only because the stack of this thread is too small for it.
    const weight = isLargeObject(object, view, form) ? object.bytes.length : Infinity;
    return offload?.(object, { ...form, includeObject, now: clock.now() }, weight)?.then((bytes) =>
      event.encoded({ id: frame.id, encode: () => around(event, bytes) }),
    );
  };
  return {
    ...frame,
    shouldOffload: (event) =>
      event.object !== undefined &&
      event.kept?.(frame.id) === undefined &&
      offload !== undefined &&
      isLargeObject(event.object, view, form),
    offload: (event) => {
      const others = inFlightEncodings.get(event)?.get(frame.id);
      // An encoding that failed because another watch ended may succeed for this one.
      if (others !== undefined) return others.catch(() => start(event) ?? event.encoded(frame));
      return trackInFlight(event, frame.id, start(event));
    },
  };
}

function trackInFlight(
  event: WatchEvent,
  id: string,
  making: Promise<Uint8Array> | undefined,
): Promise<Uint8Array> | undefined {
  if (making === undefined) return undefined;
  const known = inFlightEncodings.get(event) ?? new Map<string, Promise<Uint8Array>>();
  inFlightEncodings.set(event, known.set(id, making));
  return making.finally(() => known.delete(id));
}

function rowTable(
  rows: TableRows,
  object: CachedObject | undefined,
  columns: ColumnDefinitions,
  row: Uint8Array,
): Uint8Array {
  const [head, tail] = tableAround(rows, String(object?.revision ?? ''), columns);
  return Buffer.concat([head, row, tail]);
}

/** The annotation of the bookmark that ends the initial events: all objects that existed when the watch began have been sent. */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Builds the object of a BOOKMARK event. */
function bookmarkObject(
  view: VersionView,
  { revision, initialEventsEnd }: Pick<WatchEvent, 'revision' | 'initialEventsEnd'>,
  conventions: ResponseConventions,
): KubeObject {
  const { kind } = view.type;
  return {
    kind,
    apiVersion: view.groupVersion,
    metadata: {
      resourceVersion: String(revision),
      ...(initialEventsEnd ? { annotations: { [INITIAL_EVENTS_END]: 'true' } } : {}),
    },
    ...conventions.emptyFields(view.type),
  };
}
