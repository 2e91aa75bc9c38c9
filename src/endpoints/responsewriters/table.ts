import { asBuffer } from '../../util/bytes.js';
import { newBadRequest } from '../../apimachinery/meta/errors.js';
import { type JsonObject, type JsonValue, objectAt, stringAt, stringifyJson } from '../../apimachinery/json/json.js';
import { type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import type { AgeText, TableColumn, VersionView } from '../../registry/rest/interfaces.js';
import type { CachedList, CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import { humanDuration } from '../../util/text/human-duration.js';
import { metadataBytes } from './metadata.js';
import { memo, metaGroupVersion, partialHead } from './shapes.js';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** Parses the query parameter `includeObject`. */
export function parseIncludeObject(text: string | undefined): IncludeObject {
  if (text === undefined || text === '') return 'Metadata';
  if (text === 'None' || text === 'Metadata' || text === 'Object') return text;
  throw newBadRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${quote(text)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** The Table rows of a version in one variant. */
export interface TableRows {
  /** Distinguishes the variants of a view. */
  readonly id: string;
  readonly columns: readonly TableColumn[];
  readonly apiVersion: string;
  /** The JSON representation of rows that do not depend on the time; undefined for rows that do. */
  readonly cached: Representation | undefined;
  /** The representation of rows whose ages are left out, to be filled in when the response is written. */
  readonly open: Representation | undefined;
  /** Returns the row as JSON. */
  json(object: CachedObject, now: number): Uint8Array;
  tree(object: CachedObject, now: number): JsonObject;
  ofObject(object: KubeObject, now: number, include?: IncludeObject): JsonObject;
}

const variants = new WeakMap<VersionView, Map<string, TableRows>>();

export function tableRows(view: VersionView, version: 'v1' | 'v1beta1', include: IncludeObject): TableRows {
  const known = memo(variants, view);
  const key = `${version}-${include}`;
  let rows = known.get(key);
  if (rows === undefined) {
    rows = makeRows(view, version, include);
    known.set(key, rows);
  }
  return rows;
}

function makeRows(view: VersionView, version: 'v1' | 'v1beta1', include: IncludeObject): TableRows {
  const { table } = view.version;
  const id = `${view.id}/row-${version}-${include}`;
  const partial = partialHead(version);
  const object = (cached: CachedObject): Uint8Array => {
    if (include === 'None') return nullBytes;
    if (include === 'Object') return cached.render(view.json);
    return Buffer.concat([partial, metadataBytes(view, cached), closing]);
  };
  const ofObject = (from: KubeObject, now: number, included: IncludeObject = include): JsonObject => ({
    cells: table.cells(from, now),
    ...withConditions(table.conditions?.(from)),
    object: includedTree(from, version, included),
  });
  const closed = (cached: CachedObject, now: number): Uint8Array => {
    const tree = view.toObject(cached);
    const members = { cells: table.cells(tree, now), ...withConditions(table.conditions?.(tree)) };
    return Buffer.concat([Buffer.from(`${stringifyJson(members).slice(0, -1)},"object":`), object(cached), closing]);
  };
  const common = {
    id,
    columns: table.columns,
    apiVersion: metaGroupVersion(version),
    tree: (cached: CachedObject, now: number) => ofObject(view.toObject(cached), now),
    ofObject,
  };
  if (!table.timeDependent) {
    const cached: Representation = { id, separator: ',', render: (one) => closed(one, 0) };
    return { cached, open: undefined, json: (one) => one.render(cached), ...common };
  }
  if (table.since === undefined) return { cached: undefined, open: undefined, json: closed, ...common };
  const open: Representation = {
    id: `${id}-open`,
    separator: '',
    render: (one) => {
      const tree = view.toObject(one);
      const more = table.conditions?.(tree);
      const after = more === undefined ? '' : `,"conditions":${stringifyJson(more)}`;
      return openRow(table.cells(tree, 0), table.since?.(tree) ?? [], after, object(one));
    },
  };
  return { cached: undefined, open, json: (one, now) => closeRow(one.render(open), now), ...common };
}

const withConditions = (conditions: JsonValue | undefined): JsonObject =>
  conditions === undefined ? {} : { conditions };

const nullBytes = Buffer.from('null');
const closing = Buffer.from('}');

function includedTree(object: KubeObject, version: 'v1' | 'v1beta1', include: IncludeObject): JsonValue {
  if (include === 'None') return null;
  if (include === 'Object') return object;
  const apiVersion = metaGroupVersion(version);
  return { kind: 'PartialObjectMetadata', apiVersion, metadata: objectAt(object, 'metadata') ?? {} };
}

/** The header bytes of an open row for each age: its offset in the text (4) and its start time (8). */
const holeSize = 12;

/** Encodes a row with its ages left out: the number of ages, then the offset in the text and the start time of each age, then the text. */
function openRow(
  cells: readonly JsonValue[],
  since: readonly (number | AgeText | undefined)[],
  afterCells: string,
  object: Uint8Array,
): Uint8Array {
  const parts: string[] = [];
  const holes: { offset: number; since: number }[] = [];
  let text = '{"cells":[';
  cells.forEach((cell, index) => {
    if (index > 0) text += ',';
    const from = since[index];
    if (from === undefined) {
      text += stringifyJson(cell);
      return;
    }
    const age = typeof from === 'number' ? { since: from, before: '', after: '' } : from;
    parts.push(`${text}"${age.before}`);
    holes.push({ offset: 0, since: age.since });
    text = `${age.after}"`;
  });
  parts.push(`${text}]${afterCells},"object":`);
  const buffers = parts.map((part) => Buffer.from(part));
  const header = Buffer.alloc(1 + holes.length * holeSize);
  header.writeUInt8(holes.length, 0);
  let offset = 0;
  holes.forEach((hole, index) => {
    offset += buffers[index]?.length ?? 0;
    header.writeUInt32LE(offset, 1 + index * holeSize);
    header.writeDoubleLE(hole.since, 5 + index * holeSize);
  });
  return Buffer.concat([header, ...buffers, object, closing]);
}

/** The maximum length of an age, in bytes. */
const longestAge = 12;

function closeRow(open: Uint8Array, now: number): Uint8Array {
  const out = Buffer.allocUnsafe(open.length + (open[0] ?? 0) * longestAge);
  return out.subarray(0, closeInto(out, 0, asBuffer(open), now));
}

/** Writes an open row with its ages filled in at `at`. Returns the index after it. */
function closeInto(out: Buffer, at: number, open: Buffer, now: number): number {
  const count = open[0] ?? 0;
  const textStart = 1 + count * holeSize;
  let from = textStart;
  let to = at;
  for (let i = 0; i < count; i++) {
    const until = textStart + open.readUInt32LE(1 + i * holeSize);
    to += open.copy(out, to, from, until);
    to += out.write(humanDuration(now - open.readDoubleLE(5 + i * holeSize)), to, 'latin1');
    from = until;
  }
  return to + open.copy(out, to, from);
}

/** The approximate size of a block of rows, in bytes. */
const blockSize = 32 * 1024;

/** Yields a list's time-dependent rows in blocks, joined by commas. */
export function* rowBlocks(list: CachedList, rows: TableRows, now: number): Generator<Uint8Array> {
  const { open } = rows;
  let block = Buffer.allocUnsafe(blockSize);
  let at = 0;
  let first = true;
  for (const object of list.items()) {
    const row = open === undefined ? rows.json(object, now) : object.render(open);
    const needed = 1 + row.length + (open === undefined ? 0 : (row[0] ?? 0) * longestAge);
    if (at + needed > block.length) {
      if (at > 0) yield block.subarray(0, at);
      block = Buffer.allocUnsafe(Math.max(blockSize, needed));
      at = 0;
    }
    if (!first) block[at++] = commaByte;
    first = false;
    if (open === undefined) {
      block.set(row, at);
      at += row.length;
    } else {
      at = closeInto(block, at, asBuffer(row), now);
    }
  }
  if (at > 0) yield block.subarray(0, at);
}

const commaByte = 0x2c;

/** The column definitions of a Table; null after the first event of a watch. */
export type ColumnDefinitions = TableRows['columns'] | null;

/** Builds a Table of one row, for a single object or a watch event. */
export function tableTree(
  { apiVersion }: TableRows,
  resourceVersion: string,
  row: JsonObject,
  columns: ColumnDefinitions,
): JsonObject {
  return {
    kind: 'Table',
    apiVersion,
    metadata: resourceVersion === '' ? {} : { resourceVersion },
    columnDefinitions: columns && [...columns],
    rows: [row],
  };
}

/** Returns the JSON text of a Table before and after its only row. */
export function tableAround(rows: TableRows, resourceVersion: string, columns: ColumnDefinitions): [Buffer, Buffer] {
  const text = stringifyJson(tableTree(rows, resourceVersion, {}, columns));
  return [Buffer.from(text.slice(0, -'{}]}'.length)), Buffer.from(']}')];
}

export const resourceVersionOf = (object: KubeObject): string =>
  stringAt(objectAt(object, 'metadata'), 'resourceVersion') ?? '';
