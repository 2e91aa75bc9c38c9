import type { JsonObject } from '../../../apimachinery/json/json.js';
import { fields, listOf, text } from './schemas.js';

const NAME = text('The name of the column: letters, digits and underscores.', {
  pattern: '^[A-Za-z][A-Za-z0-9_]*$',
  maxLength: 63,
});

const EXPRESSION = text('A CEL expression over `object`, which has the type that the schema of its version declares.', {
  minLength: 1,
});

const measured = (description: string): JsonObject => fields(description, { expression: EXPRESSION }, ['expression']);

export const SOURCE = fields(
  'The objects to look at.',
  {
    group: text('The API group of the objects. Empty for the core group.'),
    version: text('The version that the expressions see. By default the preferred one.'),
    resource: text('The plural name of the resource.', { minLength: 1 }),
  },
  ['resource'],
);

export const WHERE = text(
  'A CEL expression over `object` that is true for the objects to look at. By default all are.',
);

export const namedExpression = (description: string, of: string): JsonObject =>
  listOf(
    description,
    fields(
      of,
      {
        name: NAME,
        expression: EXPRESSION,
      },
      ['name', 'expression'],
    ),
  );

export const GROUP_BY = namedExpression(
  'The expressions that make the groups: objects for which all of them have the same values are in one. Without any, there is one group.',
  'One of the expressions that make the groups.',
);

export const AGGREGATES = listOf(
  'What to compute for each group.',
  fields(
    'What to compute for a group: exactly one of count, sum, min, max, average and top.',
    {
      name: NAME,
      count: fields('The number of objects of the group.', {}),
      sum: measured(
        'The sum of an int, uint, double, duration or quantity. Null if it is beyond the type, or if the types differ.',
      ),
      min: measured('The smallest value. Null if there is none, or if the types of the values differ.'),
      max: measured('The greatest value. Null if there is none, or if the types of the values differ.'),
      average: measured('The average of an int, uint or double, as a number. Null if there is none.'),
      top: fields(
        'The values of the first objects in an order, as a list. Ties are in the order of namespace and name.',
        {
          expression: EXPRESSION,
          orderBy: text('CEL expressions, separated by commas, each with `asc` (the default) or `desc`.', {
            minLength: 1,
          }),
          count: {
            type: 'integer',
            format: 'int32',
            minimum: 1,
            maximum: 100,
            default: 1,
            description: 'The maximum number of values.',
          },
        },
        ['expression', 'orderBy'],
      ),
    },
    ['name'],
  ),
);
