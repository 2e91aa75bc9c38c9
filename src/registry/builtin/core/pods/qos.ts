import { type JsonObject, objectAt } from '../../../../apimachinery/json/json.js';
import { objectsOf } from '../../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { Quantity } from '../../../../apimachinery/meta/quantity.js';
import { quantityOf } from '../../shared/resources.js';

const COMPUTE = ['cpu', 'memory'];

type Amounts = Map<string, Quantity>;

/** Returns the quantities of cpu and memory that are greater than zero. */
function amounts(list: JsonObject | undefined): Amounts {
  const found: Amounts = new Map();
  for (const name of COMPUTE) {
    const quantity = quantityOf(list?.[name]);
    if (quantity.sign > 0) found.set(name, quantity);
  }
  return found;
}

function addAll(total: Amounts, more: Amounts): void {
  for (const [name, quantity] of more) total.set(name, total.get(name)?.add(quantity) ?? quantity);
}

/** Returns the QoS class of a pod, by the requests and limits of the pod or else of its containers. */
export function qosClass(pod: KubeObject): string {
  const spec = objectAt(pod, 'spec');
  const requests: Amounts = new Map();
  const limits: Amounts = new Map();
  let limited = true;
  const whole = objectAt(spec, 'resources') === undefined ? undefined : spec;
  const containers = whole ? [whole] : [...objectsOf(spec?.['containers']), ...objectsOf(spec?.['initContainers'])];
  for (const holder of containers) {
    const resources = objectAt(holder, 'resources');
    const own = amounts(objectAt(resources, 'limits'));
    addAll(requests, amounts(objectAt(resources, 'requests')));
    addAll(limits, own);
    if (own.size < COMPUTE.length) limited = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal = COMPUTE.every((name) => {
    const limit = limits.get(name);
    const request = requests.get(name);
    return limit !== undefined && request?.compare(limit) === 0;
  });
  return limited && equal ? 'Guaranteed' : 'Burstable';
}
