import type { JsonObject } from '../apimachinery/json/json.js';
import type { Column } from '../asking/aggregates/plan.js';
import { ReadStorage } from './read-storage.js';
import { ResourceStore } from '../registry/generic/store/resource-store.js';
import type { StoredApi } from '../registry/generic/store/api-registry.js';
import type { ComputedKind } from '../registry/rest/computed.js';
import { tableConvertorFor } from '../schema/columns/table.js';
import type { Clock } from '../util/clock.js';
import { RowCache } from './row-cache.js';
import type { RowFeed } from './row-feed.js';
import { ROWS_VERSION, VIEWS_GROUP } from './row.js';
import type { ViewPlan, ViewSpec } from './view-plan.js';

/** Returns the kind of the rows of a view. */
export function rowKind(view: ViewSpec, plan: ViewPlan, feed: RowFeed, source: StoredApi, clock: Clock): ComputedKind {
  const { plural, singular, kind, shortNames, namespaceAt } = view;
  const { columns, namespaced } = plan;
  const name = `${plural}.${VIEWS_GROUP}`;
  const cache = new RowCache(name, feed, source.store.cache, clock);
  const type = { group: VIEWS_GROUP, resource: plural, namespaced };
  // No revision is from before the view: a view has no log of its own.
  const store = new ResourceStore(type, name, source.store.backend, cache, clock, 0);
  // The namespace is a column already.
  const shown = columns.filter((_, i) => !namespaced || i !== namespaceAt);
  return {
    group: VIEWS_GROUP,
    version: ROWS_VERSION,
    kind,
    resource: plural,
    singular,
    shortNames,
    namespaced,
    selectableFields: columns.map((column) => `values.${column.name}`),
    table: tableConvertorFor([
      ...shown.map((column) => ({
        name: column.name,
        type: String(printed(column)),
        description: describe(column, view),
        jsonPath: `.values.${column.name}`,
      })),
      {
        name: 'Age',
        type: 'date',
        description: 'When the oldest object of the row was created.',
        jsonPath: '.metadata.creationTimestamp',
      },
    ]),
    schema: schemaOf(view, columns),
    storage: new ReadStorage(store),
  };
}

const printed = (column: Column): unknown => {
  const { type } = typeOf(column.type);
  return type === undefined || column.type === 'list' ? 'string' : type;
};

function schemaOf(view: ViewSpec, columns: readonly Column[]): JsonObject {
  const { spec, hasFields } = view;
  const { resource, group } = view.source;
  const of = group === '' ? resource : `${resource} of ${group}`;
  const where = typeof spec['where'] === 'string' && spec['where'] !== '' ? ` for which ${spec['where']}` : '';
  const properties: Record<string, JsonObject> = {};
  for (const column of columns) {
    const schema = column.type === 'list' ? { type: 'array', items: typeOf(column.of ?? 'dyn') } : typeOf(column.type);
    properties[column.name] = {
      ...schema,
      ...(column.nullable && { nullable: true }),
      description: describe(column, view),
    };
  }
  return {
    type: 'object',
    description: `${view.kind} is ${hasFields ? 'one' : 'a group'} of the ${of}${where}. It is made by the View ${view.plural}.${VIEWS_GROUP}.`,
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      values: { type: 'object', description: 'The values of the row.', properties },
    },
  };
}

function typeOf(type: string): JsonObject {
  switch (type) {
    case 'int':
    case 'uint':
      return { type: 'integer', format: 'int64' };
    case 'double':
      return { type: 'number' };
    case 'bool':
      return { type: 'boolean' };
    case 'dyn':
      return { 'x-kubernetes-preserve-unknown-fields': true };
    default:
      return { type: 'string' };
  }
}

/** Returns the sentence that describes a column: what the view computes. */
function describe({ name }: Column, { spec }: ViewSpec): string {
  const parts = ['groupBy', 'fields', 'aggregates'].flatMap((list) => (spec[list] as JsonObject[] | undefined) ?? []);
  const part = parts.find((of) => of['name'] === name) ?? {};
  if (typeof part['expression'] === 'string') return `The value of ${part['expression']}.`;
  const [aggregate = 'count', of] = Object.entries(part).find(([key]) => key !== 'name') ?? [];
  const { expression } = (of ?? {}) as JsonObject;
  return typeof expression === 'string' ? `The ${aggregate} of ${expression}.` : 'The number of objects.';
}
