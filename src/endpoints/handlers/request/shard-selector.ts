import { type Expr, Parser } from '@annex/cel/parser';
import { quote } from '../../../apimachinery/meta/meta.js';
import { type SelectionPredicate, SHARD_UID } from '../../../apimachinery/selectors/selection-predicate.js';
import { ApiError } from '../../../apimachinery/meta/errors.js';

/** A range of hashes: `start` is in it, `end` is not. The bounds are hexadecimal, as in the selector. */
interface ShardRange {
  readonly field: string;
  readonly start: string;
  readonly end: string;
}

/** A 64-bit number, in halves. The upper one may be 2^32, for the end of the last range. */
type Halves = readonly [high: number, low: number];

/** The fields by which objects can be sharded, and where a type's attributes have them. */
const FIELDS: Readonly<Record<string, string>> = {
  'object.metadata.uid': SHARD_UID,
  'object.metadata.namespace': 'metadata.namespace',
};

/** How Go numbers the kinds of expressions, which errors show. */
const KINDS = ['', 'call', 'comprehension', 'ident', 'list', 'literal', 'map', 'select', 'struct'];
const LAST = '0x10000000000000000';

class ShardSelectorError extends Error {}

/** Adds the `shardSelector` parameter to the selection of a request, as a condition on the hash of a field. */
export function withShard(predicate: SelectionPredicate, text: string): SelectionPredicate {
  const ranges = rangesOf(text);
  const field = FIELDS[ranges[0]?.field ?? ''] ?? '';
  const bounds = ranges.map(({ start, end }) => [halvesOf(start), halvesOf(end)] as const);
  const shard = ranges.map(({ field: by, start, end }) => `shardRange(${by}, '${start}', '${end}')`).join(' || ');
  const id = predicate.everything ? '' : predicate.id;
  return {
    ...predicate,
    everything: false,
    shard,
    id: id === undefined ? undefined : `${id} ${shard}`,
    matches: (labels, fields) => {
      const hash = fnv1a(fields[field] ?? '');
      return (
        bounds.some(([start, end]) => !isLess(hash, start) && isLess(hash, end)) && predicate.matches(labels, fields)
      );
    },
  };
}

function rangesOf(text: string): ShardRange[] {
  try {
    const expression = text.trim();
    if (expression === '') {
      throw new ShardSelectorError('empty shard selector is not allowed; omit the parameter for unfiltered lists');
    }
    const { expr, issues } = Parser.parse(expression, {
      macros: new Map(),
      optionalSyntax: false,
      escapedFields: true,
    });
    if (issues[0] !== undefined) throw new ShardSelectorError(`CEL parse error: ${issues[0].message}`);
    const ranges = [...walk(expr)];
    for (const { field } of ranges) {
      const first = ranges[0]?.field ?? '';
      if (field !== first) {
        throw new ShardSelectorError(
          `all shard ranges must use the same field, got ${quote(first)} and ${quote(field)}`,
        );
      }
    }
    return ranges;
  } catch (error) {
    // kube-apiserver answers with a plain error.
    if (error instanceof ShardSelectorError) throw new ApiError(500, '', `invalid shard selector: ${error.message}`);
    throw error;
  }
}

const kindOf = (expr: Expr): number => Math.max(0, KINDS.indexOf(expr.kind));

function* walk(expr: Expr): Iterable<ShardRange> {
  if (expr.kind !== 'call') {
    throw new ShardSelectorError(
      `unexpected expression kind ${kindOf(expr)}; expected shardRange() call or || operator`,
    );
  }
  if (expr.name === '_||_') for (const arg of expr.args) yield* walk(arg);
  else if (expr.name === 'shardRange') yield rangeOf(expr.args);
  else {
    throw new ShardSelectorError(`unsupported function ${quote(expr.name)}; only shardRange() and || are allowed`);
  }
}

function rangeOf(args: readonly Expr[]): ShardRange {
  const [by, from, to] = args;
  if (by === undefined || from === undefined || to === undefined || args.length > 3) {
    throw new ShardSelectorError(`shardRange() requires exactly 3 arguments, got ${args.length}`);
  }
  const field = fieldOf(by);
  if (!Object.hasOwn(FIELDS, field)) {
    throw new ShardSelectorError(
      `unsupported field path ${quote(field)}; supported: object.metadata.uid, object.metadata.namespace`,
    );
  }
  const start = boundOf(from, 'hexStart');
  const end = boundOf(to, 'hexEnd');
  if (!isLess(halvesOf(start), halvesOf(end))) {
    throw new ShardSelectorError(`shard range start ${start} must be less than end ${end}`);
  }
  return { field, start, end };
}

function fieldOf(expr: Expr): string {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind === 'select') return `${fieldOf(expr.operand)}.${expr.field}`;
  throw new ShardSelectorError(
    `shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind ${kindOf(expr)}`,
  );
}

function boundOf(expr: Expr, name: string): string {
  if (expr.kind !== 'literal') {
    throw new ShardSelectorError(`${name} must be a string literal (e.g. '0xff'), got expression kind ${kindOf(expr)}`);
  }
  const { value } = expr;
  if (typeof value !== 'string') {
    throw new ShardSelectorError(`${name} must be a string literal, got ${goType(value)}`);
  }
  if (!value.startsWith('0x')) throw new ShardSelectorError(`${name} must have '0x' prefix, got ${quote(value)}`);
  const hex = value.slice(2);
  if (hex === '') throw new ShardSelectorError(`${name}: hex value is required after '0x'`);
  if (Buffer.byteLength(hex) > 17) {
    throw new ShardSelectorError(
      `${name}: hex value too long (${Buffer.byteLength(hex)} chars, max 17): ${quote(hex)}`,
    );
  }
  const wrong = /[^0-9a-f]/u.exec(hex)?.[0];
  if (wrong !== undefined) {
    throw new ShardSelectorError(`${name}: invalid hex character ${quote(wrong)} in ${quote(value)}`);
  }
  if (hex.length === 17 && value !== LAST) {
    throw new ShardSelectorError(`${name}: 17-digit hex value must be '${LAST}' (2^64), got ${quote(value)}`);
  }
  if (hex.length < 16) {
    const padded = `0x${hex.padStart(16, '0')}`;
    throw new ShardSelectorError(
      `${name} must be a 0x-prefixed 16-digit hex value, got ${quote(value)} (did you mean ${quote(padded)}?)`,
    );
  }
  return value;
}

function goType(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || typeof value === 'bigint') return 'int64';
  if (value === null) return 'structpb.NullValue';
  if (value instanceof Uint8Array) return '[]uint8';
  return typeof value === 'object' && 'value' in value && typeof value.value === 'bigint' ? 'uint64' : 'float64';
}

function halvesOf(bound: string): Halves {
  const hex = bound.slice(2);
  return [parseInt(hex.slice(0, -8), 16), parseInt(hex.slice(-8), 16)];
}

const isLess = (a: Halves, b: Halves): boolean => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);

/** The 64-bit FNV-1a hash of a text, in halves: a bigint for each character would cost more than all else of a match. */
function fnv1a(text: string): Halves {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of Buffer.from(text)) {
    low = (low ^ byte) >>> 0;
    // The prime is 2^40 + 435.
    const product = low * 435;
    high = (high * 435 + Math.floor(product / 2 ** 32) + low * 256) % 2 ** 32;
    low = product % 2 ** 32;
  }
  return [high, low];
}
