import { newBadRequest, newInvalid } from '../../../apimachinery/meta/errors.js';
import { type FieldError, FieldPath, forbidden, notSupportedConstant } from '../../../apimachinery/meta/field-error.js';
import {
  compileSelection,
  escapeValue,
  type FieldNames,
  type FieldSelector,
  parseFieldSelector,
} from '../../../apimachinery/selectors/field-selectors.js';
import { parseLabelSelector } from '../../../apimachinery/selectors/label-parser.js';
import { type LabelSelector, SelectorError } from '../../../apimachinery/selectors/labels.js';
import type { ServedKind } from '../../../registry/rest/served.js';
import type { WatchOptions } from '../../../registry/rest/storage.js';
import type { SelectionPredicate } from '../../../apimachinery/selectors/selection-predicate.js';
import { withCondition } from '../../../storage/cacher/condition.js';
import type { ObjectPredicate } from '../../../storage/cacher/interfaces.js';
import type { HandlerEnvironment, KindScope } from '../scope.js';
import { type Asked, readAsking } from '../../../asking/parameters.js';
import type { ListParameter } from './list-parameters.js';
import { featureGates } from '../../../util/feature-gates.js';
import type { Query } from './query.js';
import { withShard } from './shard-selector.js';

/** Validated ListOptions of meta/v1. */
export interface ListOptions extends Omit<WatchOptions, 'deadline'> {
  readonly watch: boolean;
  /** Undefined if not given. */
  readonly timeoutSeconds: number | undefined;
}

/** ListOptions with what kube-apiserver does not know. */
export interface AskedOptions extends ListOptions {
  /** Undefined if nothing of that was asked for. */
  readonly asked: Asked | undefined;
}

const MATCH = FieldPath.of('resourceVersionMatch');

/** Reads and validates the options of list, watch and deletecollection. `name` is the object's name in the path, or ''. */
export function listOptions(
  query: Query,
  served: ServedKind,
  name: string,
  { features, listParameters }: Pick<HandlerEnvironment, 'features' | 'listParameters'>,
): ListOptions {
  const watchListEnabled = features.enabled('WatchList');
  const timeoutSeconds = query.integer('timeoutSeconds');
  const limit = query.integer('limit') ?? 0;
  const options: UnselectedOptions = {
    watch: query.boolean('watch') ?? false,
    allowWatchBookmarks: query.boolean('allowWatchBookmarks') ?? false,
    resourceVersion: query.string('resourceVersion'),
    resourceVersionMatch: query.string('resourceVersionMatch'),
    timeoutSeconds,
    limit,
    continue: query.string('continue'),
    sendInitialEvents: query.boolean('sendInitialEvents'),
  };
  const withDefaults = watchListDefaults(options, watchListEnabled);
  const errors = withDefaults.watch ? validateWatch(withDefaults, watchListEnabled) : validateList(withDefaults);
  if (errors.length > 0) {
    // Malformed selectors are reported before contradictory options; field names are checked after both.
    readSelectors(query, (field) => field);
    throw newInvalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
  }
  const selectors = sharded(predicate(query, served, name), query);
  return { predicate: withParameters(selectors, query, served, listParameters), ...withDefaults };
}

type UnselectedOptions = Omit<ListOptions, 'predicate'>;

/** Applies the defaults of a watch from no version or 0: if the gate is on, this legacy form implies initial events. */
function watchListDefaults(options: UnselectedOptions, enabled: boolean): UnselectedOptions {
  if (!options.watch || !enabled || options.sendInitialEvents !== undefined) return options;
  const legacy = options.resourceVersion === '' || options.resourceVersion === '0';
  if (!legacy || options.resourceVersionMatch !== '') return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

function validateList(options: UnselectedOptions): FieldError[] {
  const errors: FieldError[] = [];
  const match = options.resourceVersionMatch;
  if (match !== '') {
    if (options.resourceVersion === '') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    }
    if (options.continue !== '') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(notSupportedConstant(MATCH, match, ['Exact', 'NotOlderThan', '']));
    }
    if (match === 'Exact' && options.resourceVersion === '0') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbidden(FieldPath.of('sendInitialEvents'), 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function validateWatch(options: UnselectedOptions, enabled: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const match = options.resourceVersionMatch;
  if (options.sendInitialEvents !== undefined) {
    if (match !== 'NotOlderThan') {
      errors.push(forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
    }
    if (!enabled) {
      const why = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
      errors.push(forbidden(FieldPath.of('sendInitialEvents'), why));
    }
  }
  if (match !== '') {
    if (options.sendInitialEvents === undefined) {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
    }
    if (match !== 'NotOlderThan') errors.push(notSupportedConstant(MATCH, match, ['NotOlderThan']));
    if (options.continue !== '') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
    }
  }
  return errors;
}

function readSelectors(query: Query, names: FieldNames): { labels: LabelSelector; fields: FieldSelector } {
  try {
    const labels = parseLabelSelector(query.string('labelSelector'));
    return { labels, fields: parseFieldSelector(query.string('fieldSelector'), names) };
  } catch (error) {
    if (error instanceof SelectorError) throw newBadRequest(error.message);
    throw error;
  }
}

/** Reads the options of a list or watch, which may ask for more than kube-apiserver knows (docs/design/asking.md). */
export function askedOptions(scope: KindScope<object>, query: Query, answer: 'list' | 'watch'): AskedOptions {
  const { context, request, environment, served } = scope;
  const { namespace, name } = context.info;
  const options = listOptions(query, served, name, environment);
  const asked = readAsking(query, options.predicate, served, {
    url: request.url ?? '',
    isWatch: answer === 'watch',
    receivedAt: context.receivedAt,
    continue: options.continue,
    scope: [namespace, name, ...['labelSelector', 'fieldSelector', 'shardSelector'].map((of) => query.string(of))],
  });
  if (asked === undefined) return { ...options, asked };
  const { predicate, order, exactCount, binding, now } = asked;
  return {
    ...options,
    predicate,
    order,
    exactCount,
    bound: binding === undefined ? undefined : { to: binding, now },
    asked,
  };
}

/** Echoes what was applied: a client that asked must not trust an answer without the header. */
export function echoApplied({ response }: KindScope<object>, { asked }: AskedOptions): void {
  if (asked !== undefined) response.setHeader('Annex-Applied', asked.applied.join(', '));
}

/** Adds the conditions of the parameters that are given. */
function withParameters(
  selectors: ObjectPredicate,
  query: Query,
  served: ServedKind,
  parameters: readonly ListParameter[],
): ObjectPredicate {
  let selected = selectors;
  for (const parameter of parameters) {
    if (!query.has(parameter.name)) continue;
    selected = withCondition(selected, parameter.condition(query.string(parameter.name), served));
  }
  return selected;
}

function sharded(selected: SelectionPredicate, query: Query): SelectionPredicate {
  const shard = featureGates.enabled('ShardedListAndWatch') ? query.string('shardSelector') : '';
  return shard === '' ? selected : withShard(selected, shard);
}

function predicate(query: Query, served: ServedKind, name: string): SelectionPredicate {
  const { labels, fields } = readSelectors(query, served.fieldNames);
  if (name === '') return compileSelection(labels, fields);
  if (fields.empty) return compileSelection(labels, parseFieldSelector(`metadata.name=${escapeValue(name)}`));
  if (fields.requiresExactMatch('metadata.name') === name) return compileSelection(labels, fields);
  throw newBadRequest("fieldSelector metadata.name doesn't match requested name");
}
