import { formatGroupResource, type GroupResource, type KubeObject } from '../apimachinery/meta/meta.js';
import { claims } from './claims.js';
import type { Evaluator } from './evaluator.js';
import { objectCount, countName } from './object-count.js';
import { pods } from './pods.js';
import { objectAt, objectsOf, textAt } from '../apimachinery/json/json.js';
import { Quantity } from '../apimachinery/meta/quantity.js';
import { ONE, type ResourceList, ZERO } from './resource-list.js';

const SERVICES = { group: '', resource: 'services' };
const COUNT = countName(SERVICES);
const NODE_PORTS = 'services.nodeports';
const LOAD_BALANCERS = 'services.loadbalancers';
const NAMES = [COUNT, 'services', NODE_PORTS, LOAD_BALANCERS];

/** Measures services, their node ports and their load balancers. */
const services: Evaluator = {
  groupResource: SERVICES,
  readsObjects: true,
  handles: ({ subresource }) => subresource === '',
  matchesResource: (name) => NAMES.includes(name),
  matchesScope: () => false,
  usage: (service): ResourceList =>
    new Map([
      [COUNT, ONE],
      ['services', ONE],
      [LOAD_BALANCERS, typeOf(service) === 'LoadBalancer' ? ONE : ZERO],
      [NODE_PORTS, Quantity.of(BigInt(nodePorts(service)))],
    ]),
};

const typeOf = (service: KubeObject): string => textAt(objectAt(service, 'spec'), 'type');

/** Counts ports without a number too, unless the service disables their allocation. */
function nodePorts(service: KubeObject): number {
  const spec = objectAt(service, 'spec');
  const ports = objectsOf(spec?.['ports']);
  const type = typeOf(service);
  if (type === 'NodePort') return ports.length;
  if (type !== 'LoadBalancer') return 0;
  if (spec?.['allocateLoadBalancerNodePorts'] !== false) return ports.length;
  return ports.filter(({ nodePort }) => nodePort !== undefined && nodePort !== 0).length;
}

/** Types whose objects are only counted, also under a name without `count/`. */
const NAMED = ['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets'];

const SPECIAL = new Map<string, Evaluator>(
  [pods, services, claims, ...NAMED.map((resource) => objectCount({ group: '', resource }, resource))].map(
    (evaluator) => [formatGroupResource(evaluator.groupResource), evaluator],
  ),
);

/** Types that are never counted: those that are not stored, and events. */
const IGNORED = new Set([
  'bindings',
  'componentstatuses',
  'tokenreviews.authentication.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'events',
  'events.events.k8s.io',
]);

const MAX_COUNTERS = 10_000;
const counters = new Map<string, Evaluator>();

/** Returns the evaluator of a type, or undefined if quotas ignore it. */
export function evaluatorOf(type: GroupResource): Evaluator | undefined {
  const name = formatGroupResource(type);
  if (IGNORED.has(name)) return undefined;
  const known = SPECIAL.get(name) ?? counters.get(name);
  if (known !== undefined) return known;
  const made = objectCount(type);
  if (counters.size < MAX_COUNTERS) counters.set(name, made);
  return made;
}

/** Removes the evaluator of a type that no longer exists. */
export function forgetEvaluator(type: GroupResource): void {
  counters.delete(formatGroupResource(type));
}

/** Returns the evaluators of types with more resources than `count/…`. */
export const specialEvaluators = (): Iterable<Evaluator> => SPECIAL.values();
