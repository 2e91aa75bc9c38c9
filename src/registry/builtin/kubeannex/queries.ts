import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { AGGREGATES, GROUP_BY, SOURCE, WHERE } from './aggregates.js';
import { count, fields, listOf, ownDefinition, text } from './schemas.js';

const SPEC = fields(
  'The question.',
  {
    source: SOURCE,
    labelSelector: fields('The labels of the objects to look at. By default all are.', {
      matchLabels: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'The labels that the objects must have.',
      },
      matchExpressions: listOf(
        'The requirements that the labels must meet.',
        fields(
          'A requirement on a label.',
          {
            key: text('The label.'),
            operator: text('One of In, NotIn, Exists and DoesNotExist.'),
            values: listOf('The values, for In and NotIn.', { type: 'string' }),
          },
          ['key', 'operator'],
        ),
      ),
    }),
    where: WHERE,
    groupBy: GROUP_BY,
    aggregates: AGGREGATES,
    orderBy: listOf(
      'The order of the rows. Ties, and all rows without it, are in the order of the values of their groups.',
      fields(
        'A column to order by. Rows without a value come last.',
        {
          name: text('The name of the group or aggregate.'),
          descending: { type: 'boolean', description: 'True for the greatest value first.' },
        },
        ['name'],
      ),
    ),
    limit: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: 10_000,
      description: 'The maximum number of rows. At most 10,000.',
    },
  },
  ['source'],
);

const STATUS = fields('The answer.', {
  resourceVersion: text('The revision of the objects that the answer is about. It is exact.'),
  columns: listOf('The names of the groups and aggregates.', { type: 'string' }),
  rows: listOf(
    'The values of each group, in the order of the columns.',
    listOf('The values of a group.', { 'x-kubernetes-preserve-unknown-fields': true }),
  ),
  evaluated: count('The number of objects in the namespace that the label selector selects.'),
  failed: count('The number of these on which an expression failed.'),
  example: text('One of the objects on which an expression failed, and why.'),
  truncated: {
    type: 'boolean',
    description: 'True if there are groups beyond 10,000 rows, or beyond the memory that a query may take.',
  },
});

const schema = (description: string): JsonObject => ({
  ...fields(
    description,
    {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: SPEC,
      status: STATUS,
    },
    ['spec'],
  ),
});

/** Returns the definition of Query, or of LocalQuery, which is about one namespace. */
export const queryDefinition = (kind: 'Query' | 'LocalQuery'): KubeObject =>
  kind === 'Query'
    ? ownDefinition({ plural: 'queries', singular: 'query', kind, listKind: 'QueryList' }, 'Cluster', {
        schema: schema(
          'Query groups and aggregates objects of a kind in all namespaces. It is answered when it is created, and is not stored.',
        ),
      })
    : ownDefinition(
        { plural: 'localqueries', singular: 'localquery', kind, listKind: 'LocalQueryList' },
        'Namespaced',
        {
          schema: schema(
            'LocalQuery groups and aggregates objects of a kind in its namespace. It is answered when it is created, and is not stored.',
          ),
        },
      );
