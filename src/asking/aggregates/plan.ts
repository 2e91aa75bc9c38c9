import { Duration, Quantity, type Type, type Value } from '@annex/cel';
import {
  type JsonObject,
  type JsonValue,
  objectAt,
  objectsOf,
  stringAt,
  stringifyJson,
  textAt,
} from '../../apimachinery/json/json.js';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  required,
  tooMany,
} from '../../apimachinery/meta/field-error.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import { Expression } from '../expression.js';
import type { AskedKind } from '../object-type.js';
import { sortKey } from '../sort-key.js';
import { splitKeys } from '../split-keys.js';
import {
  type Accumulator,
  type Aggregate,
  type Contribution,
  EMPTY_SUMS,
  newAccumulator,
  type Result,
} from './accumulators.js';
import { contentType, type Found, isError, isScalarType, type Scalar, SCALAR_TYPES, scalarOf } from './scalar.js';

/** The maximum number of expressions of each list of a plan. */
const MAX_EXPRESSIONS = 32;
/** The maximum number of keys of the order of `top`. */
const MAX_KEYS = 8;

const AGGREGATES: readonly Aggregate[] = ['count', 'sum', 'min', 'max', 'average', 'top'];
const ADDED = new Set(['int', 'uint', 'double', 'dyn', 'google.protobuf.Duration', 'kubernetes.Quantity']);
const AVERAGED = new Set(['int', 'uint', 'double', 'dyn']);

/** A column of the rows. */
export interface Column {
  readonly name: string;
  /** The CEL type of its values; `list` for those of `top`. */
  readonly type: string;
  /** The CEL type of the values of a list. */
  readonly of?: string;
  readonly nullable: boolean;
}

interface PlannedAggregate {
  readonly aggregate: Aggregate;
  readonly empty: Value;
  readonly count: number;
  /** Absent for `count`. */
  readonly expression?: Expression;
  readonly orderBy: readonly { readonly expression: Expression; readonly descending: boolean }[];
}

/** What an object is for a plan: in a group, or in none, and why an expression failed on it. */
export interface Taken {
  /** Undefined if the object is in no group. */
  readonly group?:
    { readonly id: string; readonly values: readonly JsonValue[]; readonly keys: readonly string[] } | undefined;
  /** By aggregate; undefined where the object does not count. */
  readonly contributions: readonly (Contribution | undefined)[];
  readonly error?: string | undefined;
}

const NOT_SELECTED: Taken = { contributions: [] };
const COUNTED: Contribution = { scalar: { value: 0, json: 0, key: '' } };

/** The groups and aggregates of a Query or a View, compiled for a version of its source. */
export class Plan {
  constructor(
    readonly where: Expression | undefined,
    private readonly groupBy: readonly Expression[],
    private readonly aggregates: readonly PlannedAggregate[],
    readonly columns: readonly Column[],
  ) {}

  /** True if there is one group, which exists also without objects. */
  get isWhole(): boolean {
    return this.groupBy.length === 0;
  }

  newGroup(values: readonly JsonValue[], removes: boolean): Group {
    return new Group(
      values,
      this.aggregates.map((of) => newAccumulator({ ...of, removes })),
    );
  }

  /** Evaluates the expressions on an object, which `where` may have selected already. Throws only StorageError, if the object cannot be read. */
  take(object: CachedObject, now: Value, isSelected = false): Taken {
    const selected = isSelected ? undefined : this.where?.on(object, now);
    if (selected?.error !== undefined) return { contributions: [], error: selected.error };
    if (selected?.value === false) return NOT_SELECTED;
    const values: JsonValue[] = [];
    const keys: string[] = [];
    for (const expression of this.groupBy) {
      const found = foundBy(expression, object, now);
      if (isError(found)) return { contributions: [], error: found.error };
      values.push(found?.json ?? null);
      // What has no value comes last.
      keys.push(found?.key ?? '\xff');
    }
    let error: string | undefined;
    const contributions = this.aggregates.map((planned) => {
      const found =
        planned.expression === undefined ? COUNTED : contributionOf(planned, planned.expression, object, now);
      if (found === undefined || 'scalar' in found) return found;
      error ??= found.error;
      return undefined;
    });
    return { group: { id: stringifyJson(values), values, keys }, contributions, error };
  }
}

function foundBy(expression: Expression, object: CachedObject, now: Value): Found {
  const evaluation = expression.on(object, now);
  return evaluation.error === undefined ? scalarOf(evaluation.value) : evaluation;
}

function contributionOf(
  { aggregate, orderBy }: PlannedAggregate,
  expression: Expression,
  object: CachedObject,
  now: Value,
): Contribution | { readonly error: string } | undefined {
  const scalar = foundBy(expression, object, now);
  if (scalar === undefined || isError(scalar)) return scalar;
  if (aggregate === 'sum' && !isSummable(scalar)) return { error: 'the value cannot be added up' };
  if (aggregate === 'average' && !isNumber(scalar)) return { error: 'the value is no number' };
  if (aggregate !== 'top') return { scalar };
  let types = '';
  const keys: Buffer[] = [];
  for (const key of orderBy) {
    const found = foundBy(key.expression, object, now);
    if (isError(found)) return found;
    if (found !== undefined) types += found.key.charAt(0);
    keys.push(Buffer.from(sortKey(found?.value, key.descending)));
  }
  const slash = object.key.indexOf('/');
  const name = [object.key.slice(0, Math.max(0, slash)), object.key.slice(slash + 1)].map((part) =>
    sortKey(part, false),
  );
  return { scalar, place: { key: Buffer.concat([...keys, ...name]).toString('latin1'), types } };
}

const isNumber = ({ json }: Scalar): boolean => typeof json === 'number' || typeof json === 'bigint';

const isSummable = (scalar: Scalar): boolean =>
  isNumber(scalar) || scalar.value instanceof Duration || scalar.value instanceof Quantity;

const jsonOf = (result: Result): JsonValue =>
  result === undefined || Array.isArray(result) ? (result ?? null) : result.json;

/** The aggregates of one group. */
export class Group {
  /** The number of its objects. */
  members = 0;

  constructor(
    readonly values: readonly JsonValue[],
    private readonly accumulators: readonly Accumulator[],
  ) {}

  /** Returns by about how many bytes it grows. */
  add(contributions: Taken['contributions']): number {
    this.members++;
    return this.accumulators.reduce((bytes, accumulator, i) => {
      const from = contributions[i];
      return from === undefined ? bytes : bytes + accumulator.add(from);
    }, 0);
  }

  remove(contributions: Taken['contributions']): void {
    this.members--;
    this.accumulators.forEach((accumulator, i) => {
      const from = contributions[i];
      if (from !== undefined) accumulator.remove(from);
    });
  }

  /** The aggregates. */
  get results(): readonly Result[] {
    return this.accumulators.map((accumulator) => accumulator.result());
  }

  /** The values of the columns. */
  get row(): JsonValue[] {
    return [...this.values, ...this.results.map(jsonOf)];
  }
}

/** Compiles the expressions of a spec. Adds what is wrong with them to `errors`. */
export function compilePlan(
  spec: JsonObject,
  served: AskedKind,
  path: FieldPath,
  mayUseNow: boolean,
  errors: FieldError[],
): Plan {
  const compiler = new Compiler(served, mayUseNow, errors);
  const where = stringAt(spec, 'where') ?? '';
  const selects = where === '' ? undefined : compiler.compile(where, path.child('where'), isBool, 'bool');
  const columns = new Columns(errors);
  const groupBy = listOf(spec, 'groupBy', path, errors).flatMap((group, i) => {
    const at = path.child('groupBy').index(i);
    const expression = compiler.scalar(group, at);
    columns.add(group, at, { ...typeOf(expression), nullable: isNullable(expression) });
    return expression ?? [];
  });
  const aggregates = listOf(spec, 'aggregates', path, errors).flatMap((aggregate, i) => {
    const at = path.child('aggregates').index(i);
    const planned = compiler.aggregate(aggregate, at);
    columns.add(aggregate, at, planned === undefined ? ANY : columnOf(planned));
    return planned ?? [];
  });
  return new Plan(selects, groupBy, aggregates, columns.all);
}

/** Returns a list of a spec, if it is not too long. */
function listOf(spec: JsonObject, name: string, path: FieldPath, errors: FieldError[]): readonly JsonObject[] {
  const list = objectsOf(spec[name]);
  if (list.length <= MAX_EXPRESSIONS) return list;
  errors.push(tooMany(path.child(name), list.length, MAX_EXPRESSIONS));
  return [];
}

const ANY = { type: 'dyn', nullable: true };
const isBool = (type: Type): boolean => type.kind === 'bool';
const isNullable = (expression: Expression | undefined): boolean =>
  expression === undefined ||
  contentType(expression.outputType) !== expression.outputType ||
  expression.outputType.kind === 'dyn';
const typeOf = (expression: Expression | undefined): { readonly type: string } => ({
  type: expression === undefined ? 'dyn' : contentType(expression.outputType).name,
});

function columnOf({ aggregate, expression }: PlannedAggregate): Omit<Column, 'name'> {
  const { type } = typeOf(expression);
  switch (aggregate) {
    case 'count':
      return { type: 'int', nullable: false };
    case 'average':
      return { type: 'double', nullable: true };
    case 'top':
      return { type: 'list', of: type, nullable: true };
    default:
      return { type, nullable: true };
  }
}

/** Names are those of columns, of field selectors and of labels in metrics. */
class Columns {
  readonly all: Column[] = [];

  constructor(private readonly errors: FieldError[]) {}

  add(from: JsonObject, path: FieldPath, column: Omit<Column, 'name'>): void {
    const name = textAt(from, 'name');
    if (this.all.some((other) => other.name === name)) this.errors.push(duplicate(path.child('name'), name));
    this.all.push({ ...column, name });
  }
}

class Compiler {
  constructor(
    private readonly served: AskedKind,
    private readonly mayUseNow: boolean,
    private readonly errors: FieldError[],
  ) {}

  compile(source: string, path: FieldPath, accepts: (type: Type) => boolean, wanted: string): Expression | undefined {
    const expression = Expression.read(source, this.served, this.mayUseNow);
    if (typeof expression === 'string') {
      this.errors.push(invalid(path, source, expression));
      return undefined;
    }
    if (accepts(expression.outputType)) return expression;
    this.errors.push(invalid(path, source, `must evaluate to ${wanted} but got ${expression.outputType.declared()}`));
    return undefined;
  }

  scalar(from: JsonObject, path: FieldPath): Expression | undefined {
    const at = path.child('expression');
    const source = textAt(from, 'expression');
    if (source !== '') return this.compile(source, at, isScalarType, SCALAR_TYPES);
    this.errors.push(required(at));
    return undefined;
  }

  aggregate(from: JsonObject, path: FieldPath): PlannedAggregate | undefined {
    const given = AGGREGATES.filter((name) => objectAt(from, name) !== undefined);
    const [aggregate] = given;
    if (aggregate === undefined || given.length > 1) {
      const names = `${AGGREGATES.slice(0, -1).join(', ')} or ${AGGREGATES.at(-1) ?? ''}`;
      this.errors.push(invalid(path, given.join(', '), `must have exactly one of ${names}`));
      return undefined;
    }
    if (aggregate === 'count') return { aggregate, empty: 0, count: 0, orderBy: [] };
    const spec = objectAt(from, aggregate) ?? {};
    const at = path.child(aggregate);
    const expression = this.measure(aggregate, spec, at);
    const orderBy = aggregate === 'top' ? this.order(spec, at.child('orderBy')) : [];
    if (expression === undefined || orderBy === undefined) return undefined;
    const empty = aggregate === 'sum' ? (EMPTY_SUMS[typeOf(expression).type] ?? 0) : null;
    const count = Number(spec['count'] ?? 1);
    return { aggregate, empty, count, expression, orderBy };
  }

  private measure(aggregate: Aggregate, spec: JsonObject, path: FieldPath): Expression | undefined {
    if (aggregate !== 'sum' && aggregate !== 'average') return this.scalar(spec, path);
    const source = textAt(spec, 'expression');
    const among = aggregate === 'sum' ? ADDED : AVERAGED;
    const wanted = aggregate === 'sum' ? 'int, uint, double, duration or quantity' : 'int, uint or double';
    if (source === '') return this.scalar(spec, path);
    return this.compile(source, path.child('expression'), (type) => among.has(contentType(type).name), wanted);
  }

  private order(spec: JsonObject, path: FieldPath): PlannedAggregate['orderBy'] | undefined {
    const source = textAt(spec, 'orderBy');
    const texts = splitKeys(source);
    if (source === '' || texts.some(({ text }) => text === '')) {
      this.errors.push(required(path));
      return undefined;
    }
    if (texts.length > MAX_KEYS) {
      this.errors.push(invalid(path, source, `must have at most ${String(MAX_KEYS)} keys`));
      return undefined;
    }
    const keys = texts.flatMap(({ text, descending }) => {
      const expression = this.compile(text, path, isScalarType, SCALAR_TYPES);
      return expression === undefined ? [] : { expression, descending };
    });
    return keys.length === texts.length ? keys : undefined;
  }
}
