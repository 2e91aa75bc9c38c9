import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { stringifyJson } from '../apimachinery/json/json.js';
import type { Column } from '../asking/aggregates/plan.js';
import type { Attributes } from '../storage/cacher/interfaces.js';
import { encodeObject } from '../storage/encode.js';
import type { EncodedObject } from '../storage/interfaces.js';

export const VIEWS_GROUP = 'views.kubeannex.io';
export const ROWS_VERSION = 'v1alpha1';

/** A row of a view, without a revision. It never changes. */
export interface Row {
  /** `namespace/name`, or the name. */
  readonly key: string;
  /** Rows with equal texts look alike. */
  readonly text: string;
  readonly attributes: Attributes;
  readonly encoded: EncodedObject;
}

/** What a row is made of besides its values. */
export interface RowOrigin {
  /** Of the oldest object. */
  readonly created: string | undefined;
  /** The object that a row of fields stands for. */
  readonly object?: { readonly namespace: string; readonly name: string; readonly labels: Attributes['labels'] };
}

export interface RowKind {
  readonly kind: string;
  /** The uid of the view. */
  readonly uid: string;
  readonly columns: readonly Column[];
  /** The number of groups, which are the first columns; the others are aggregates. */
  readonly groups: number;
  /** The group that is the namespace, or -1. */
  readonly namespaceAt: number;
}

/** Returns a function that makes the rows of a view. */
export function rowMaker(of: RowKind): (values: readonly JsonValue[], origin: RowOrigin) => Row {
  const { kind, uid, columns, groups, namespaceAt } = of;
  return (values, { created, object }) => {
    const group = values[namespaceAt];
    const namespace = object?.namespace ?? (typeof group === 'string' ? group : '');
    const name = object?.name ?? nameOf(values.slice(0, groups), columns, namespaceAt);
    const key = namespace === '' ? name : `${namespace}/${name}`;
    const labels = object?.labels;
    const metadata: JsonObject = {
      name,
      ...(namespace !== '' && { namespace }),
      uid: uidOf(uid, key),
      ...(created !== undefined && { creationTimestamp: created }),
      ...(labels !== undefined && { labels: { ...labels } }),
    };
    const shown: Record<string, JsonValue> = {};
    columns.forEach((column, i) => (shown[column.name] = values[i] ?? null));
    const row = { apiVersion: `${VIEWS_GROUP}/${ROWS_VERSION}`, kind, metadata, values: shown };
    const fields: Record<string, string> = { 'metadata.name': name, 'metadata.namespace': namespace };
    for (const [column, value] of Object.entries(shown)) fields[`values.${column}`] = textOf(value);
    return { key, text: stringifyJson(row), attributes: { labels, fields }, encoded: encodeObject(row) };
  };
}

/** Returns a value as field selectors compare it. */
const textOf = (value: JsonValue): string =>
  typeof value === 'string' ? value : value === null ? '' : stringifyJson(value);

const VALID = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
/** A name that may have been made of other values. */
const HASHED = /-[0-9a-f]{12}$/;
const MAX_NAME = 253;
const PLAIN_TYPES = new Set(['string', 'int', 'uint', 'bool']);

/** Returns the name of a group: its values, with a hash of them unless they can be told from the name. */
function nameOf(groups: readonly JsonValue[], columns: readonly Column[], namespaceAt: number): string {
  const rest = groups.flatMap((value, i) => (i === namespaceAt ? [] : { value, column: columns[i] }));
  if (rest.length === 0) return 'summary';
  const joined = rest.map(({ value }) => textOf(value)).join('-');
  const isPlain = rest.every(
    ({ value, column }) =>
      column !== undefined &&
      PLAIN_TYPES.has(column.type) &&
      value !== null &&
      (rest.length === 1 || !textOf(value).includes('-')),
  );
  const isValid = joined.length <= MAX_NAME && VALID.test(joined) && !joined.includes('..') && !/\.-|-\./.test(joined);
  if (isPlain && isValid && !HASHED.test(joined)) return joined;
  const hash = createHash('sha256')
    .update(stringifyJson(rest.map(({ value }) => value)))
    .digest('hex')
    .slice(0, 12);
  const base = joined
    .slice(0, MAX_NAME)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, MAX_NAME - hash.length - 1)
    .replace(/-+$/, '');
  return base === '' ? `row-${hash}` : `${base}-${hash}`;
}

/** Returns the uid of a row, which is the same on all replicas and after a restart. */
function uidOf(view: string, key: string): string {
  const hex = createHash('sha256').update(`${view}/${key}`).digest('hex');
  const variant = ((parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
