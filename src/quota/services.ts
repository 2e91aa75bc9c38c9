import { objectAt, objectsOf, textAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { Quantity } from '../apimachinery/meta/quantity.js';
import type { Evaluator } from './evaluator.js';
import { countName } from './object-count.js';
import { ONE, type ResourceList, ZERO } from './resource-list.js';

const SERVICES = { group: '', resource: 'services' };
const COUNT = countName(SERVICES);
const NODE_PORTS = 'services.nodeports';
const LOAD_BALANCERS = 'services.loadbalancers';
const NAMES = [COUNT, 'services', NODE_PORTS, LOAD_BALANCERS];

/** Measures services, their node ports and their load balancers. */
export const services: Evaluator = {
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
