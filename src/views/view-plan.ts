import { type JsonObject, objectAt, objectsOf, stringAt, textAt } from '../apimachinery/json/json.js';
import { type FieldError, FieldPath, invalid, required } from '../apimachinery/meta/field-error.js';
import { type Column, compilePlan, type Plan } from '../asking/aggregates/plan.js';
import { scalarOf } from '../asking/aggregates/scalar.js';
import { Expression } from '../asking/expression.js';
import type { AskedKind } from '../asking/object-type.js';
import type { CachedObject } from '../storage/cacher/interfaces.js';
import type { MachineOptions, Entry } from './row-machine.js';
import { rowMaker, VIEWS_GROUP } from './row.js';
import { readSource, type SourceName } from './sources.js';

const SPEC = FieldPath.of('spec');
/** The maximum number of groups of a view, and of rows of a view with fields. */
const MAX_GROUPS = 10_000;
const MAX_FIELD_ROWS = 1_000_000;

/** The expression whose group makes a view namespaced. */
const NAMESPACE = 'object.metadata.namespace';

/** What a View asks for, as far as that can be told without its source. */
export interface ViewSpec {
  readonly uid: string;
  readonly source: SourceName;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly spec: JsonObject;
  readonly hasFields: boolean;
  /** The group that is the namespace, or -1. */
  readonly namespaceAt: number;
}

export function readView(view: JsonObject): ViewSpec {
  const spec = objectAt(view, 'spec') ?? {};
  const names = objectAt(spec, 'names');
  const kind = textAt(names, 'kind');
  return {
    uid: textAt(objectAt(view, 'metadata'), 'uid'),
    source: readSource(spec),
    plural: textAt(names, 'plural'),
    singular: stringAt(names, 'singular') ?? kind.toLowerCase(),
    kind,
    shortNames: (names?.['shortNames'] as string[] | undefined) ?? [],
    spec,
    hasFields: objectsOf(spec['fields']).length > 0,
    namespaceAt: objectsOf(spec['groupBy']).findIndex(({ expression }) => expression === NAMESPACE),
  };
}

/** Returns what is wrong with a view whatever its source is. */
export function structureErrors({ spec, hasFields, source }: ViewSpec): FieldError[] {
  const isAggregated = ['groupBy', 'aggregates'].some((name) => objectsOf(spec[name]).length > 0);
  const errors: FieldError[] = [];
  if (hasFields && isAggregated)
    errors.push(invalid(SPEC.child('fields'), 'fields', 'cannot be used together with groupBy and aggregates'));
  if (!hasFields && !isAggregated) errors.push(required(SPEC, 'must have fields, or groupBy and aggregates'));
  if (source.group === VIEWS_GROUP)
    errors.push(
      invalid(SPEC.child('source', 'group'), source.group, 'the rows of a view cannot be the source of another'),
    );
  return errors;
}

/** A view, compiled for a version of its source. */
export class ViewPlan {
  readonly columns: readonly Column[];
  readonly namespaced: boolean;
  readonly machine: MachineOptions;
  private readonly created: Expression | undefined;

  private constructor(
    private readonly view: ViewSpec,
    private readonly plan: Plan,
    served: AskedKind,
  ) {
    const { kind, uid, hasFields, namespaceAt } = view;
    const { columns } = plan;
    this.columns = columns;
    const created = Expression.read('object.metadata.creationTimestamp', served, false);
    this.created = typeof created === 'string' ? undefined : created;
    this.namespaced = hasFields ? served.type.namespaced : namespaceAt >= 0;
    const groups = objectsOf(view.spec[hasFields ? 'fields' : 'groupBy']).length;
    this.machine = {
      newGroup: hasFields ? undefined : (values) => plan.newGroup(values, true),
      isWhole: !hasFields && plan.isWhole,
      make: rowMaker({ kind, uid, columns, groups, namespaceAt: hasFields ? -1 : namespaceAt }),
      maxRows: hasFields ? MAX_FIELD_ROWS : MAX_GROUPS,
    };
  }

  /** Adds what does not fit the source to `errors`. */
  static compile(view: ViewSpec, served: AskedKind, errors: FieldError[]): ViewPlan {
    const { spec, hasFields } = view;
    const groups = hasFields ? 'fields' : 'groupBy';
    const plan = compilePlan(spec, served, SPEC, { mayUseNow: false, groups }, errors);
    return new ViewPlan(view, plan, served);
  }

  private createdOf(object: CachedObject): string | undefined {
    const evaluation = this.created?.on(object, null);
    const found = evaluation?.error === undefined ? scalarOf(evaluation?.value) : undefined;
    return found !== undefined && 'json' in found && typeof found.json === 'string' ? found.json : undefined;
  }

  /** Evaluates the view's expressions on an object. Throws only StorageError, if the object cannot be read. */
  take(object: CachedObject): Entry {
    const created = this.createdOf(object);
    const { labels } = object.attributes;
    if (!this.view.hasFields) {
      const { group, contributions, error } = this.plan.take(object, null);
      return { group, contributions, error, origin: { created } };
    }
    const { values, error } = this.plan.fields(object);
    const slash = object.key.indexOf('/');
    const origin = {
      created,
      object: { namespace: object.key.slice(0, Math.max(0, slash)), name: object.key.slice(slash + 1), labels },
    };
    return { group: values && { id: object.key, values }, contributions: [], error, origin };
  }
}
