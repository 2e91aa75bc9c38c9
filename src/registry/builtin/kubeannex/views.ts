import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { AGGREGATES, GROUP_BY, namedExpression, SOURCE, WHERE } from './aggregates.js';
import { column, count, fields, KUBEANNEX, listOf, ownDefinition, text } from './schemas.js';

export const VIEWS = { group: KUBEANNEX, resource: 'views' };

const LABEL = '^[a-z]([-a-z0-9]*[a-z0-9])?$';

const NAMES = fields(
  'The names of the kind of the rows.',
  {
    plural: text('The plural name, as in URLs.', { pattern: LABEL, maxLength: 63 }),
    singular: text('The singular name. By default the kind in lower case.', { pattern: LABEL, maxLength: 63 }),
    kind: text('The kind.', { pattern: '^[A-Z][A-Za-z0-9]*$', maxLength: 63 }),
    shortNames: listOf(
      'Short names for the command line.',
      { type: 'string', pattern: LABEL, maxLength: 63 },
      { maxItems: 8 },
    ),
  },
  ['plural', 'kind'],
);

const SPEC: JsonObject = {
  ...fields(
    'The rows: groups of objects with aggregates, or fields of each object.',
    {
      names: NAMES,
      source: SOURCE,
      where: WHERE,
      groupBy: GROUP_BY,
      aggregates: AGGREGATES,
      fields: namedExpression(
        'What the rows show of each object. The rows keep the name, namespace, labels and creationTimestamp of their objects. Cannot be used together with groupBy and aggregates.',
        'A value that is shown of each object.',
      ),
    },
    ['names', 'source'],
  ),
};

const CONDITION = fields(
  'A condition of the view.',
  {
    type: text('The type of the condition.'),
    status: text('The status of the condition.', { enum: ['True', 'False', 'Unknown'] }),
    reason: text('The reason for the status, in CamelCase.'),
    message: text('A human-readable explanation of the status.'),
    lastTransitionTime: text('The time of the last change of the status.', { format: 'date-time' }),
    observedGeneration: count('The generation of the spec that the condition was set for.'),
  },
  ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
);

const STATUS = fields('The observed state of the view.', {
  observedGeneration: count('The generation of the spec that the status reports on.'),
  conditions: listOf(
    'Ready: the rows are served. Complete: no groups are left out. ExpressionsSucceed: no expression fails on any object.',
    CONDITION,
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
  ),
});

const isTrue = (type: string): string => `.status.conditions[?(@.type=="${type}")].status`;

/** Returns the definition of View. */
export const viewDefinition = (): KubeObject =>
  ownDefinition({ plural: VIEWS.resource, singular: 'view', kind: 'View', listKind: 'ViewList' }, 'Cluster', {
    subresources: { status: {} },
    additionalPrinterColumns: [
      column('Kind', '.spec.names.kind'),
      column('Source', '.spec.source.resource'),
      column('Ready', isTrue('Ready')),
      column('Complete', isTrue('Complete')),
      column('Age', '.metadata.creationTimestamp', 'date'),
    ],
    schema: {
      ...fields(
        'View makes a read-only kind of the group views.kubeannex.io, whose objects are groups of objects with aggregates, or a selection of objects with some of their fields. They follow the source.',
        {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object' },
          spec: SPEC,
          status: STATUS,
        },
        ['spec'],
      ),
      'x-kubernetes-validations': [
        {
          rule: "self.metadata.name == self.spec.names.plural + '.views.kubeannex.io'",
          message: 'the name must be spec.names.plural, followed by .views.kubeannex.io',
        },
      ],
    },
  });
