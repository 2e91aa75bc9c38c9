import type { JsonObject } from '../../apimachinery/json/json.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import { yieldNow } from '../../scheduling/slicer.js';
import type { CachedList, Representation } from '../../storage/cacher/interfaces.js';
import { timed } from '../../util/metrics/stopwatch.js';
import { type Pieces, sendPieces } from './body.js';
import { encodedRow, singleItems } from './items.js';
import { type Encoder, encoderOf, type ListFrame } from './encoders.js';
import type { ListMetadata, ResponseSink } from './sink.js';
import { memo, representationOf, shapeOf } from './shapes.js';
import { parseIncludeObject, rowBlocks, type TableRows, tableRows } from './table.js';

/**
 * Writes a list in the negotiated form: a head, the items' cached bytes, a tail. Cached bytes are neither parsed nor printed
 * again. Throws ApiError before anything is written if the form is impossible; an error in the middle of a long list is thrown
 * after the head was sent.
 */
export async function writeList(
  sink: ResponseSink,
  list: CachedList,
  metadata: ListMetadata,
  view: VersionView,
): Promise<void> {
  const { audit, stopwatch, media } = sink;
  if (media.as === 'PartialObjectMetadata') throw sink.conventions.newIsListError(view.type);
  audit?.responseObject(() => listTree(sink, list, metadata, view));
  await timed(stopwatch, 'serialize-response-object', async () => {
    const pieces =
      media.as === 'Table' ? tablePieces(sink, list, metadata, view) : await itemPieces(sink, list, metadata, view);
    await sendPieces(sink, 200, pieces);
  });
}

/** Builds the list as sent, for the audit log. */
function listTree(sink: ResponseSink, list: CachedList, metadata: ListMetadata, view: VersionView): JsonObject {
  const { media, includeObject, clock } = sink;
  if (media.as === 'Table') {
    const table = tableRows(view, media.asVersion ?? 'v1', parseIncludeObject(includeObject));
    const now = clock.now();
    const { apiVersion, columns } = table;
    const rows = Array.from(list.items(), (item) => table.tree(item, now));
    return { kind: 'Table', apiVersion, metadata: listMeta(metadata), columnDefinitions: [...columns], rows };
  }
  const shape = shapeOf(view, media);
  return {
    ...shape.listType,
    metadata: listMeta(metadata, media.as === undefined ? sink.conventions.listMeta : {}),
    items: Array.from(list.items(), (item) => shape.itemTree(item)),
  };
}

/** Builds a ListMeta. Absent members are omitted, except those in `always`. */
function listMeta(metadata: ListMetadata, always: JsonObject = {}): JsonObject {
  const next = metadata.continue ?? '';
  return {
    resourceVersion: metadata.resourceVersion,
    ...(next === '' ? always : { continue: next }),
    ...(metadata.remainingItemCount === undefined ? {} : { remainingItemCount: metadata.remainingItemCount }),
    ...(metadata.shard === undefined ? {} : { shardInfo: { selector: metadata.shard } }),
  };
}

async function itemPieces(
  sink: ResponseSink,
  list: CachedList,
  metadata: ListMetadata,
  view: VersionView,
): Promise<Pieces> {
  const { media, protobuf } = sink;
  const shape = shapeOf(view, media);
  const encoder = encoderOf(media, protobuf);
  const representation = representationOf(shape, media, 'item', protobuf);
  const single = singleItems(list, view, sink);
  const gathered = encoder.sized ? await gather(single ?? list.chunks(representation)) : undefined;
  const frame: ListFrame = {
    metadata: listMeta(metadata, media.as === undefined ? sink.conventions.listMeta : {}),
    listKey: 'items',
    count: list.length,
    size: gathered?.size ?? 0,
    emptyIsNull: shape.emptyIsNull,
    ...shape.listType,
  };
  const { head, tail } = encoder.list(frame);
  return {
    head,
    middle: gathered?.chunks ?? single ?? list.chunks(representation),
    gzipMiddle: single === undefined ? () => list.gzipChunks(representation) : undefined,
    tail,
  };
}

/** Collects all chunks and their total size, for encodings that write the length of a list before it. Yields to the event loop after each chunk. */
async function gather(
  made: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<{ readonly chunks: Uint8Array[]; readonly size: number }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of made) {
    chunks.push(chunk);
    size += chunk.length;
    await yieldNow();
  }
  return { chunks, size };
}

function tablePieces(sink: ResponseSink, list: CachedList, metadata: ListMetadata, view: VersionView): Pieces {
  const { media, protobuf, includeObject, clock } = sink;
  const rows = tableRows(view, media.asVersion ?? 'v1', parseIncludeObject(includeObject));
  const encoder = encoderOf(media, protobuf);
  const { head, tail } = encoder.list({
    kind: 'Table',
    apiVersion: rows.apiVersion,
    metadata: listMeta(metadata),
    listKey: 'rows',
    more: { columnDefinitions: [...rows.columns] },
    count: list.length,
    size: 0,
    emptyIsNull: view.version.table.emptyIsNull,
  });
  const single = singleItems(list, view, sink);
  if (single !== undefined) return { head, middle: single, tail };
  const cached = encodedRows(rows, encoder);
  if (cached !== undefined) {
    return { head, middle: list.chunks(cached), gzipMiddle: () => list.gzipChunks(cached), tail };
  }
  const now = clock.now();
  const middle = encoder.id === 'json' ? rowBlocks(list, rows, now) : encodedBlocks(list, rows, encoder, now);
  return { head, middle, tail };
}

const encodedVariants = new WeakMap<TableRows, Map<string, Representation>>();

/** Returns the representation of time-independent rows in an encoding; undefined if the rows depend on the time. */
function encodedRows(rows: TableRows, encoder: Encoder): Representation | undefined {
  const { cached } = rows;
  if (cached === undefined || encoder.id === 'json') return cached;
  const known = memo(encodedVariants, rows);
  let representation = known.get(encoder.id);
  if (representation === undefined) {
    representation = {
      id: `${rows.id}/${encoder.id}`,
      separator: encoder.separator,
      render: (object) => encodedRow(object, rows, encoder, 0),
    };
    known.set(encoder.id, representation);
  }
  return representation;
}

function* encodedBlocks(list: CachedList, rows: TableRows, encoder: Encoder, now: number): Generator<Uint8Array> {
  const separator = Buffer.from(encoder.separator);
  let first = true;
  for (const object of list.items()) {
    const row = encodedRow(object, rows, encoder, now);
    yield first ? row : Buffer.concat([separator, row]);
    first = false;
  }
}
