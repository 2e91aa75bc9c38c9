import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { column, count, ownDefinition, text } from './schemas.js';

export const ADOPTIONS = { group: 'kubeannex.io', resource: 'adoptions' };

const NAMES = {
  plural: ADOPTIONS.resource,
  singular: 'adoption',
  kind: 'Adoption',
  listKind: 'AdoptionList',
  shortNames: ['adopt'],
};

const SPEC: JsonObject = {
  type: 'object',
  description: 'The desired state of the adoption.',
  properties: {
    servedBy: {
      type: 'string',
      enum: ['Cluster', 'Annex'],
      default: 'Cluster',
      description:
        'The server of the group. With Cluster, Annex copies the objects and follows their changes; with Annex, Annex serves the group as soon as the copy is in sync. Setting Cluster again returns the group, with everything that was written in Annex.',
    },
    dependents: {
      type: 'string',
      enum: ['Refuse', 'Repoint', 'Abandon'],
      default: 'Refuse',
      description:
        'How to treat dependents outside the group. Objects that were created in Annex get a new uid in the cluster, so the garbage collector would delete objects outside the group that they own. With Refuse, the group is not returned while such dependents exist; with Repoint, their ownerReferences are updated to the new uids; with Abandon, they are deleted.',
    },
    skipRaise: {
      type: 'boolean',
      default: false,
      description:
        "Returns the group without raising the cluster's revision above that of Annex. This is faster if Annex is far ahead, but clients that watch the group must be restarted, and resourceVersions decrease.",
    },
    source: {
      type: 'object',
      default: {},
      description: "The cluster's own copy of the group.",
      properties: {
        retain: {
          type: 'boolean',
          default: true,
          description:
            'Whether the cluster keeps its copy, as of the switch, while Annex serves the group. With false, the objects and the CustomResourceDefinitions are deleted from etcd as soon as Annex serves the group; if the group returns afterwards, all objects get new uids.',
        },
      },
    },
    maxWriteRefusalSeconds: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: 600,
      default: 10,
      description:
        'The maximum number of seconds for which writes to the group may be refused while it moves. A switch that takes longer is given up: the cluster accepts writes again, and the switch is tried again by itself, after 15 seconds at first and up to 5 minutes later. If clients may already have been routed to Annex, writes are accepted when every kube-apiserver serves the group itself again. A return that takes longer leaves the group with Annex, and is tried again after 5 minutes; once requests for the group go to the cluster, it is completed.',
    },
    copyRate: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: 100_000,
      default: 1000,
      description:
        'The maximum number of objects read from the cluster per second while all objects are copied or compared.',
    },
  },
};

const RESOURCE: JsonObject = {
  type: 'object',
  required: ['resource'],
  properties: {
    resource: text('Plural name of the resource.'),
    source: count('The number of objects in the cluster.'),
    copied: count('The number of objects in the copy.'),
    bytes: count('The size of the objects as JSON, in bytes.'),
    lagSeconds: count('Seconds since the copy was last known to be complete; 0 while changes are followed.'),
    digest: text('Digest of all objects, which was equal on both sides at the last comparison.'),
    comparedTime: {
      type: 'string',
      format: 'date-time',
      description: 'The time of the last comparison of both sides.',
    },
    differences: count('The number of objects that differed at the last comparison.'),
    invalid: count(
      'The number of objects that predate their schema and did not pass its validation at the last comparison. They are copied unchanged, and accepted until their invalid fields change.',
    ),
    message: text('The reason why the copy is not complete.'),
  },
};

const CONDITION: JsonObject = {
  type: 'object',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: text('The type of the condition.'),
    status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'The status of the condition.' },
    reason: text('The reason for the status, in CamelCase.'),
    message: text('A human-readable explanation of the status.'),
    lastTransitionTime: {
      type: 'string',
      format: 'date-time',
      description: 'The time of the last change of the status.',
    },
    observedGeneration: count('The generation of the spec that the condition was set for.'),
  },
};

const STATUS: JsonObject = {
  type: 'object',
  description: 'The observed state of the adoption.',
  properties: {
    phase: {
      type: 'string',
      enum: ['Copying', 'InSync', 'Preparing', 'Fencing', 'Switching', 'Served', 'Returning', 'Failed'],
      description:
        'The phase of the adoption. Writes to the group are refused in Fencing and Switching, and in Returning while the condition Ready is not True.',
    },
    copied: text('Human-readable number of copied objects out of all objects.'),
    lag: text('Human-readable lag of the copy.'),
    observedGeneration: count('The generation of the spec that the status reports on.'),
    leader: text('The replica that copies the objects.'),
    switch: {
      type: 'object',
      description: 'The state that another replica needs to continue a switch.',
      properties: {
        first: count('The revision above which the log of Annex continues.'),
        counted: text('The uid of the FlowSchema that counts writes in flight.'),
        countedSince: count(
          'The time since which every kube-apiserver counts writes, in milliseconds since the epoch.',
        ),
        fence: text('The policy that was in effect on every kube-apiserver when the copy was complete.'),
        fencedAt: count(
          'The time since which writes are refused, in milliseconds since the epoch; 0 while they are accepted.',
        ),
        back: text('The step of the return to the cluster: Copying, Closing or Routing.'),
        retries: count('How often the switch has been given up that is tried again.'),
        retryAt: count('The time after which it is tried again, in milliseconds since the epoch; 0 if it is not.'),
        door: count("The number of the version through which the cluster's copy was last written."),
      },
    },
    return: {
      type: 'object',
      description: 'The last return to the cluster.',
      properties: {
        carried: count('The number of objects that were written to the cluster or individually compared with it.'),
        left: count('The number of objects that are known to differ.'),
        refused: count('The number of these that the cluster has refused.'),
        born: count(
          'The number of objects that were created in Annex: the cluster gives them a new uid and creationTimestamp.',
        ),
        loweredGenerations: count(
          'The number of objects whose generation is lower in the cluster than it was in Annex, because several changes were merged.',
        ),
        raiseFrom: count("The cluster's revision before it was raised."),
        raiseTo: count("The revision of Annex that the cluster's revision must exceed."),
        raised: count('The revision that the cluster has been raised to so far.'),
        raiseSecondsLeft: count('Estimated seconds until the revision is raised, at the rate so far.'),
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
        "Copied: all objects have been copied. InSync: changes are followed, and both sides were equal when last compared. Accepted: Annex can serve the definitions. Switchable: nothing prevents switching the group. AdmissionEnforced: Annex enforces the cluster's webhooks and policies that match the group when it serves it. Switched: Annex serves the group. Ready: the server of the group accepts writes. Discovered: the discovery of every kube-apiserver lists the resources of the group, which the cluster serves. Returned: the group has returned to the cluster. DependentsOutside: the group cannot return, because objects outside the group would be deleted. SourceRetained: the cluster keeps its copy; the message reports its size in etcd.",
      items: CONDITION,
    },
  },
};

/** Returns the definition of Adoption, kubeannex.io/v1alpha1. It is not in the store, so clients cannot change it. */
export const adoptionDefinition = (): KubeObject =>
  ownDefinition(NAMES, 'Cluster', {
    subresources: { status: {} },
    additionalPrinterColumns: [
      column('Served By', '.spec.servedBy'),
      column('Phase', '.status.phase'),
      column('Copied', '.status.copied'),
      column('Lag', '.status.lag'),
      column('Age', '.metadata.creationTimestamp', 'date'),
    ],
    schema: {
      type: 'object',
      description:
        'Adoption moves the resources of the API group that it is named after from the cluster into Annex. It copies their objects and follows the changes.',
      required: ['spec'],
      'x-kubernetes-validations': [
        {
          rule: "self.metadata.name.contains('.') && !self.metadata.name.endsWith('.k8s.io') && self.metadata.name != 'kubeannex.io'",
          message:
            'the name must be an API group of CustomResourceDefinitions, and must not be a group of Kubernetes or Annex',
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
  });
