import type { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import { OFFLOAD_READ_BYTES, OFFLOAD_YAML_BYTES, SINGLE_ITEM_BYTES } from '../../scheduling/thresholds.js';
import type { CachedList, CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import { type Encoder, encoderOf } from './encoders.js';
import type { ItemForm, ResponseSink } from './sink.js';
import { representationOf, shapeOf } from './shapes.js';
import { parseIncludeObject, type TableRows, tableRows } from './table.js';
import { isStackOverflow } from '../../util/stack-overflow.js';

function itemForm({ media, includeObject, clock }: ResponseSink): ItemForm {
  const { encoding, pretty, as, asVersion } = media;
  return { encoding, pretty, as, asVersion, includeObject, now: clock.now() };
}

/** Encodes an item of a list or an event, or its row of a Table, without separators. */
export function renderItem(
  object: CachedObject,
  view: VersionView,
  form: ItemForm,
  protobuf: ProtobufCodec,
): Uint8Array {
  if (form.as !== 'Table') return object.render(representationOfItem(view, form, protobuf));
  const rows = tableRows(view, form.asVersion ?? 'v1', parseIncludeObject(form.includeObject));
  const encoder = encoderOf(form, protobuf);
  return encoder.id === 'json' ? rows.json(object, form.now) : encodedRow(object, rows, encoder, form.now);
}

const ROW_TYPE = { apiVersion: '', kind: '' };

/** Encodes a row of a Table in an encoding other than JSON. */
export const encodedRow = (object: CachedObject, rows: TableRows, encoder: Encoder, now: number): Uint8Array =>
  encoder.item(rows.json(object, now), () => rows.tree(object, now), ROW_TYPE);

export function representationOfItem(
  view: VersionView,
  form: Pick<ItemForm, 'encoding' | 'pretty' | 'as' | 'asVersion' | 'whole'>,
  protobuf: ProtobufCodec,
): Representation {
  const shape = shapeOf(view, form);
  if (form.whole !== true) return representationOf(shape, form, 'item', protobuf);
  // Inside an event, no newline follows.
  return form.encoding === 'json' ? shape.whole : representationOf(shape, form, 'whole', protobuf);
}

/** Reports whether the object must be encoded because the stored bytes cannot be sent unchanged. */
const needsEncoding = (
  view: VersionView,
  { encoding, pretty, as }: Pick<NegotiatedMedia, 'encoding' | 'pretty' | 'as'>,
) => as === 'Table' || encoding !== 'json' || pretty || (as === undefined && view.json.identityUpTo !== Infinity);

/** Reports whether encoding an object takes long enough to be done on a worker thread. */
export function isLargeObject(
  object: CachedObject,
  view: VersionView,
  form: Pick<NegotiatedMedia, 'encoding' | 'pretty' | 'as'>,
): boolean {
  const isPlain = form.encoding === 'json' && !form.pretty && form.as === undefined;
  if (isPlain && view.json.isMade?.(object) === true) return false;
  if (form.as === 'Table' && view.version.table.mainThreadOnly === true) return false;
  return (
    (needsEncoding(view, form) || object.incomplete) &&
    object.bytes.length >= (form.encoding === 'yaml' ? OFFLOAD_YAML_BYTES : OFFLOAD_READ_BYTES)
  );
}

/**
 * Returns the items of a list one by one, with separators, or undefined if the list's cached blocks serve as well. Large items
 * are encoded on a worker thread if one is available.
 */
export function singleItems(
  list: CachedList,
  view: VersionView,
  sink: ResponseSink,
): AsyncIterable<Uint8Array> | undefined {
  const { media } = sink;
  if (!needsEncoding(view, media)) return undefined;
  if (media.encoding !== 'yaml' && !holdsLongItems(list)) return undefined;
  return oneByOne(list, view, sink);
}

function holdsLongItems(list: CachedList): boolean {
  for (const object of list.items()) if (object.bytes.length >= SINGLE_ITEM_BYTES) return true;
  return false;
}

/** Renders an item on this thread, or on a worker if it is nested too deeply for the stack of this one. */
function renderOrOffload(
  object: CachedObject,
  view: VersionView,
  form: ItemForm,
  { protobuf, offload }: ResponseSink,
): Uint8Array | Promise<Uint8Array> {
  try {
    return renderItem(object, view, form, protobuf);
  } catch (error) {
    const offloaded = isStackOverflow(error) ? offload?.(object, form, Infinity) : undefined;
    if (offloaded === undefined) throw error;
    return offloaded;
  }
}

async function* oneByOne(list: CachedList, view: VersionView, sink: ResponseSink): AsyncGenerator<Uint8Array> {
  const { media, protobuf, offload } = sink;
  const form = itemForm(sink);
  const separator = Buffer.from(encoderOf(media, protobuf).separator);
  let first = true;
  for (const object of list.items()) {
    const offloaded = isLargeObject(object, view, form) ? offload?.(object, form) : undefined;
    const bytes = await (offloaded ?? renderOrOffload(object, view, form, sink));
    if (!first && separator.length > 0) yield separator;
    yield bytes;
    first = false;
  }
}
