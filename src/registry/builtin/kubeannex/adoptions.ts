import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';

export const ADOPTIONS = { group: 'kubeannex.io', resource: 'adoptions' };

const NAME = `${ADOPTIONS.resource}.${ADOPTIONS.group}`;
const NAMES: JsonObject = {
  plural: ADOPTIONS.resource,
  singular: 'adoption',
  kind: 'Adoption',
  listKind: 'AdoptionList',
  shortNames: ['adopt'],
};

const text = (description: string): JsonObject => ({ type: 'string', description });
const count = (description: string): JsonObject => ({ type: 'integer', format: 'int64', minimum: 0, description });

const SPEC: JsonObject = {
  type: 'object',
  description: 'What is wanted.',
  properties: {
    servedBy: {
      type: 'string',
      enum: ['Cluster', 'Annex'],
      default: 'Cluster',
      description:
        'Who serves the group. With Cluster, Annex copies its objects and follows their changes; with Annex it serves the group as soon as the copy is in sync. Cluster again gives the group back, with all that was written in Annex.',
    },
    dependents: {
      type: 'string',
      enum: ['Refuse', 'Repoint', 'Abandon'],
      default: 'Refuse',
      description:
        'Objects that were created in Annex get another uid in the cluster, and the garbage collector deletes what they own outside of the group. With Refuse the group does not go back while there is such an object; with Repoint their ownerReferences get the new uids; with Abandon they are deleted.',
    },
    skipRaise: {
      type: 'boolean',
      default: false,
      description:
        "Gives the group back without raising the cluster's revision above that of Annex: faster where Annex is far ahead, but whoever watches the group must be restarted, and resourceVersions go back.",
    },
    source: {
      type: 'object',
      default: {},
      description: 'What the cluster itself has of the group.',
      properties: {
        retain: {
          type: 'boolean',
          default: true,
          description:
            'Whether the cluster keeps its copy, as it was at the switch, while Annex serves the group. With false the objects and the CustomResourceDefinitions are deleted from etcd as soon as Annex serves the group; a group that goes back afterwards gets new uids for all objects.',
        },
      },
    },
    copyRate: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: 100_000,
      default: 1000,
      description: 'Objects that are read from the cluster in a second at most while everything is copied or compared.',
    },
  },
};

const RESOURCE: JsonObject = {
  type: 'object',
  required: ['resource'],
  properties: {
    resource: text('Plural name of the resource.'),
    source: count('Objects in the cluster.'),
    copied: count('Objects in the copy.'),
    bytes: count('Size of the objects as JSON.'),
    lagSeconds: count('How long ago the copy was known to be complete; 0 while changes are followed.'),
    digest: text('Digest of all objects at the last comparison: equal on both sides.'),
    comparedTime: { type: 'string', format: 'date-time', description: 'When both sides were compared last.' },
    differences: count('Objects that differed at the last comparison.'),
    invalid: count(
      'Objects that their schema would refuse, because they are older than it, at the last comparison. They are taken as they are, and stay so until what is invalid in them changes.',
    ),
    message: text('What keeps the copy from being complete.'),
  },
};

const CONDITION: JsonObject = {
  type: 'object',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: text('Name of the condition.'),
    status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'Whether it holds.' },
    reason: text('Why, in one word.'),
    message: text('Why, in a sentence.'),
    lastTransitionTime: { type: 'string', format: 'date-time', description: 'When the status changed.' },
    observedGeneration: count('Generation of the spec that the condition is about.'),
  },
};

const STATUS: JsonObject = {
  type: 'object',
  description: 'How far the adoption is.',
  properties: {
    phase: {
      type: 'string',
      enum: ['Copying', 'InSync', 'Preparing', 'Fencing', 'Switching', 'Served', 'Returning', 'Failed'],
      description:
        'Where the adoption stands. Writes to the group are refused while it is Fencing or Switching, and while the condition Ready does not hold in Returning.',
    },
    copied: text('Copied objects of all, for people.'),
    lag: text('How far the copy is behind, for people.'),
    observedGeneration: count('Generation of the spec that the status is about.'),
    leader: text('The replica that copies.'),
    switch: {
      type: 'object',
      description: 'What a replica has to know that goes on with a switch.',
      properties: {
        first: count('The log of Annex goes on above this revision.'),
        counted: text('Uid of the FlowSchema by which writes under way are counted.'),
        countedSince: count('Since when every kube-apiserver counts, in milliseconds since 1970.'),
        fence: text('The policy that held everywhere when the copy was complete.'),
        fencedAt: count('Since when writes are refused, in milliseconds since 1970; 0 while they are taken.'),
        back: text('How far the way back to the cluster is: Copying, Closing or Routing.'),
        door: count("Number of the version by which the cluster's copy was written last."),
      },
    },
    return: {
      type: 'object',
      description: 'The last way back to the cluster.',
      properties: {
        carried: count('Objects that were written to the cluster, or compared with it one by one.'),
        left: count('Objects that are known to differ.'),
        refused: count('Of those, the ones that the cluster has refused.'),
        born: count('Objects that were created in Annex: the cluster gives them another uid and creationTimestamp.'),
        loweredGenerations: count(
          'Objects whose generation is lower in the cluster than it was in Annex, because several changes became one.',
        ),
        raiseFrom: count("The cluster's revision when it began to be raised."),
        raiseTo: count('The revision of Annex that it has to pass.'),
        raised: count("The cluster's revision, as far as it is raised."),
        raiseSecondsLeft: count('How long that takes yet, at the rate of until now.'),
      },
    },
    resources: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['resource'],
      description: 'The resources of the group.',
      items: RESOURCE,
    },
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      description:
        'Copied: all objects have been copied. InSync: changes are followed, and both sides were equal. Accepted: Annex can serve the definitions. Switchable: nothing keeps the group from being switched. AdmissionEnforced: the webhooks and policies of the cluster that match the group hold when Annex serves it. Switched: Annex serves the group. Ready: whoever serves it takes writes. Returned: the group went back to the cluster. DependentsOutside: it cannot, because objects outside of it would be deleted. SourceRetained: the cluster keeps its copy, and how much of etcd it takes.',
      items: CONDITION,
    },
  },
};

const column = (name: string, jsonPath: string, type = 'string'): JsonObject => ({ name, type, jsonPath });

/** Returns the definition of Adoption, kubeannex.io/v1alpha1. It is not in the store, so clients cannot change it. */
export function adoptionDefinition(): KubeObject {
  return {
    apiVersion: 'kubeannex.io/v1',
    kind: 'ResourceDefinition',
    metadata: { name: NAME, uid: NAME, generation: 1 },
    spec: {
      group: ADOPTIONS.group,
      scope: 'Cluster',
      names: NAMES,
      conversion: { strategy: 'None' },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            column('Served By', '.spec.servedBy'),
            column('Phase', '.status.phase'),
            column('Copied', '.status.copied'),
            column('Lag', '.status.lag'),
            column('Age', '.metadata.creationTimestamp', 'date'),
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description:
                'Adoption moves the resources of an API group, whose name it has, from the cluster into Annex. It copies their objects and follows the changes.',
              required: ['spec'],
              'x-kubernetes-validations': [
                {
                  rule: "self.metadata.name.contains('.') && !self.metadata.name.endsWith('.k8s.io') && self.metadata.name != 'kubeannex.io'",
                  message:
                    'the name must be that of an API group of CustomResourceDefinitions, which is not one of Kubernetes or of Annex',
                },
              ],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: SPEC,
                status: STATUS,
              },
            },
          },
        },
      ],
    },
    status: {
      acceptedNames: NAMES,
      storedVersions: ['v1alpha1'],
      conditions: ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' })),
    },
  };
}
