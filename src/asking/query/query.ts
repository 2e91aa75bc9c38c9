import { Timestamp } from '@annex/cel';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { objectAt, objectsOf, stringAt, textAt } from '../../apimachinery/json/json.js';
import { newBadRequest } from '../../apimachinery/meta/errors.js';
import { type FieldError, FieldPath, invalid, notFound } from '../../apimachinery/meta/field-error.js';
import { compileSelection, parseFieldSelector } from '../../apimachinery/selectors/field-selectors.js';
import { labelSelectorFromObject, validateLabelSelector } from '../../apimachinery/selectors/label-selector-object.js';
import { EVERYTHING } from '../../apimachinery/selectors/selection-predicate.js';
import type { Lister, ListOptions } from '../../registry/rest/storage.js';
import type { RequestContext } from '../../request/context.js';
import { Slicer } from '../../scheduling/slicer.js';
import { withCondition } from '../../storage/cacher/condition.js';
import type { CachedObject, ObjectPredicate } from '../../storage/cacher/interfaces.js';
import type { Clock } from '../../util/clock.js';
import { SortedBag } from '../aggregates/sorted-bag.js';
import { compilePlan, type Column, type Group, type Plan } from '../aggregates/plan.js';
import type { AskedKind } from '../object-type.js';
import { idOf, Where } from '../where.js';

/** The maximum number of rows of an answer. */
const MAX_ROWS = 10_000;
/** The maximum number of groups that are made for it, and of bytes that they may take. */
const MAX_GROUPS = 100_000;
const MAX_BYTES = 64 << 20;
/** The approximate memory of a group besides its values. */
const GROUP_BYTES = 200;

const SPEC = FieldPath.of('spec');

/** The type that a query is about. */
export interface QuerySource {
  readonly served: AskedKind;
  readonly storage: Lister;
}

/** A query that can be run. */
export interface PreparedQuery {
  readonly plan: Plan;
  readonly source: QuerySource;
  readonly predicate: ObjectPredicate;
  readonly where: Where | undefined;
  readonly order: readonly { readonly column: number; readonly descending: boolean }[];
  readonly limit: number;
  readonly now: Timestamp;
}

/** Compiles the spec of a query that arrived at a time. Adds what is wrong with it to `errors`. */
export function prepareQuery(
  spec: JsonObject,
  source: QuerySource,
  receivedAt: number,
  errors: FieldError[],
): PreparedQuery {
  const { served } = source;
  const plan = compilePlan(spec, served, SPEC, true, errors);
  const labelSelector = objectAt(spec, 'labelSelector');
  const selectorErrors = validateLabelSelector(labelSelector, SPEC.child('labelSelector'));
  errors.push(...selectorErrors);
  const now = new Timestamp(Math.floor(receivedAt / 1000), (((receivedAt % 1000) + 1000) % 1000) * 1e6);
  const text = stringAt(spec, 'where') ?? '';
  return {
    plan,
    source,
    now,
    predicate:
      labelSelector === undefined || selectorErrors.length > 0
        ? EVERYTHING
        : compileSelection(labelSelectorFromObject(labelSelector), parseFieldSelector('')),
    where: plan.where && new Where(plan.where, now, idOf('where', text, served)),
    order: orderOf(spec, plan.columns, errors),
    limit: Number(spec['limit'] ?? Infinity),
  };
}

function orderOf(spec: JsonObject, columns: readonly Column[], errors: FieldError[]): PreparedQuery['order'] {
  return objectsOf(spec['orderBy']).map((key, i) => {
    const at = SPEC.child('orderBy').index(i).child('name');
    const name = textAt(key, 'name');
    const column = columns.findIndex((of) => of.name === name);
    if (column < 0) errors.push(notFound(at, name));
    else if (columns[column]?.type === 'list') errors.push(invalid(at, name, 'a list has no order'));
    return { column, descending: key['descending'] === true };
  });
}

/** Returns the status of a query in a namespace, or in all if it is ''. Evaluates in slices, in which users take turns. */
export async function runQuery(
  query: PreparedQuery,
  context: RequestContext,
  namespace: string,
  clock: Pick<Clock, 'monotonic'>,
): Promise<JsonObject> {
  const { source, predicate, where, plan } = query;
  const all = await source.storage.list(context, namespace, listOptions(predicate, ''));
  const { resourceVersion } = all;
  const selected =
    where === undefined
      ? all
      : await source.storage.list(
          context,
          namespace,
          listOptions(withCondition(predicate, where), String(resourceVersion)),
        );
  const { failures } = selected.list;
  const run = new Run(query);
  if (plan.isWhole) run.groupOf('[]', [], []);
  if (failures !== undefined) run.failed(failures.first, where?.failureOn(failures.first) ?? '', failures.count);
  const slicer = new Slicer(clock, context.user.name);
  for (const object of selected.list.items()) {
    run.take(object);
    if (!slicer.isExhausted) continue;
    await slicer.yield();
    context.signal.throwIfAborted();
  }
  const rows = await run.rows(slicer);
  return {
    resourceVersion: String(resourceVersion),
    columns: plan.columns.map(({ name }) => name),
    rows,
    evaluated: all.list.length,
    ...run.failures,
  };
}

const listOptions = (predicate: ObjectPredicate, resourceVersion: string): ListOptions => ({
  resourceVersion,
  resourceVersionMatch: resourceVersion === '' ? '' : 'Exact',
  limit: 0,
  continue: '',
  predicate,
});

interface Entry {
  readonly group: Group;
  readonly keys: readonly string[];
}

/** The groups of a running query. */
class Run {
  private readonly groups = new Map<string, Entry>();
  private bytes = 0;
  private isTruncated = false;
  private failing = 0;
  private example = '';

  constructor(private readonly query: PreparedQuery) {}

  take(object: CachedObject): void {
    const { plan, now } = this.query;
    const { group: of, contributions, error } = plan.take(object, now, true);
    if (error !== undefined) this.failed(object, error, 1);
    if (of === undefined) return;
    const group = this.groupOf(of.id, of.values, of.keys);
    if (group === undefined) return;
    this.bytes += group.add(contributions);
    if (this.bytes > 2 * MAX_BYTES)
      throw newBadRequest(
        `the values of the groups take more than ${String((2 * MAX_BYTES) >> 20)} MiB: ask for fewer or for shorter ones`,
      );
  }

  groupOf(id: string, values: readonly JsonValue[], keys: readonly string[]): Group | undefined {
    const known = this.groups.get(id);
    if (known !== undefined) return known.group;
    if (this.groups.size >= MAX_GROUPS || this.bytes > MAX_BYTES) {
      this.isTruncated = true;
      return undefined;
    }
    this.bytes += GROUP_BYTES + 2 * id.length + keys.reduce((sum, key) => sum + key.length, 0);
    const group = this.query.plan.newGroup(values, false);
    this.groups.set(id, { group, keys });
    return group;
  }

  failed(object: CachedObject, error: string, count: number): void {
    this.failing += count;
    const { resource } = this.query.source.served.groupResource;
    if (this.example === '') this.example = `${resource}/${object.key}: ${error}`;
  }

  get failures(): JsonObject {
    const { failing: failed, example, isTruncated: truncated } = this;
    return { failed, ...(example !== '' && { example }), truncated };
  }

  /** The rows in the order that was asked for; ties, and all without one, in that of the groups' values. */
  async rows(slicer: Slicer): Promise<JsonValue[]> {
    const { order, limit } = this.query;
    const shown = new SortedBag<Group>(Math.min(limit, MAX_ROWS));
    for (const [id, { group, keys }] of this.groups) {
      const { results } = group;
      const by = order.map(({ column, descending }) => {
        const result = results[column - keys.length];
        const key = column < keys.length ? keys[column] : Array.isArray(result) ? undefined : result?.key;
        return directed(key, descending);
      });
      shown.add([...by, ...keys, id].join(''), group);
      if (slicer.isExhausted) await slicer.yield();
    }
    if (limit > MAX_ROWS && this.groups.size > MAX_ROWS) this.isTruncated = true;
    return shown.take(MAX_ROWS).map(({ row }) => row);
  }
}

/** Returns a key as it is, or with all bits inverted. What has no value is last either way. */
function directed(key = MISSING, descending: boolean): string {
  if (!descending || key === MISSING) return key;
  const bytes = Buffer.from(key, 'latin1');
  for (let i = 0; i < bytes.length; i++) bytes[i] = 0xff ^ (bytes[i] ?? 0);
  return bytes.toString('latin1');
}

const MISSING = '\xff';
