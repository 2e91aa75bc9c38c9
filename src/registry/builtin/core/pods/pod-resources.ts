import { type FieldError, type FieldPath, invalid } from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, objectsOf } from '../../../../apimachinery/json/json.js';
import { compareUtf8, type KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { Quantity } from '../../../../apimachinery/meta/quantity.js';
import { isHugePages, quantityOf } from '../../shared/resources.js';

type Part = 'requests' | 'limits';
type Amounts = ReadonlyMap<string, Quantity>;

function amountsOf(holder: JsonObject, part: Part): Amounts {
  const list = objectAt(objectAt(holder, 'resources'), part) ?? {};
  return new Map(Object.keys(list).map((name) => [name, quantityOf(list[name])]));
}

function sum(...all: readonly Amounts[]): Amounts {
  const total = new Map<string, Quantity>();
  for (const [name, amount] of all.flatMap((amounts) => [...amounts])) {
    total.set(name, total.get(name)?.add(amount) ?? amount);
  }
  return total;
}

function largest(...all: readonly Amounts[]): Amounts {
  const most = new Map<string, Quantity>();
  for (const [name, amount] of all.flatMap((amounts) => [...amounts])) {
    const before = most.get(name);
    if (before === undefined || amount.compare(before) > 0) most.set(name, amount);
  }
  return most;
}

/**
 * Returns the resources that the containers of a pod need together: the regular ones run at once, beside the restartable init
 * containers. Each of the other init containers runs alone, beside the restartable ones that were started before it.
 */
function together(spec: JsonObject, part: Part): Amounts {
  let running = sum(...objectsOf(spec['containers']).map((container) => amountsOf(container, part)));
  let staying: Amounts = new Map();
  let starting: Amounts = new Map();
  for (const container of objectsOf(spec['initContainers'])) {
    const own = amountsOf(container, part);
    if (container['restartPolicy'] === 'Always') {
      running = sum(running, own);
      staying = sum(staying, own);
      starting = largest(starting, staying);
    } else starting = largest(starting, sum(own, staying));
  }
  return largest(running, starting);
}

/** The resources that a pod as a whole may have, besides huge pages. */
const COMPUTE: ReadonlySet<string> = new Set(['cpu', 'memory']);

const isEmpty = (list: JsonObject): boolean => Object.keys(list).length === 0;

/**
 * Sets the defaults of pod-level resources, if there are any. The limits of huge pages are those of the containers. The requests
 * are those of the containers, or else the limits of the pod.
 */
export function defaultPodResources(spec: JsonObject): void {
  const resources = objectAt(spec, 'resources');
  if (resources === undefined) return;
  const requests = { ...objectAt(resources, 'requests') };
  const limits = { ...objectAt(resources, 'limits') };
  if (isEmpty(requests) && isEmpty(limits)) return;
  for (const [name, amount] of together(spec, 'limits')) {
    if (isHugePages(name) && !Object.hasOwn(requests, name)) limits[name] ??= amount.toString();
  }
  if (isEmpty(limits)) return;
  resources['limits'] = limits;
  for (const [name, amount] of together(spec, 'requests')) {
    if (COMPUTE.has(name)) requests[name] ??= amount.toString();
  }
  for (const name in limits) if (COMPUTE.has(name) || isHugePages(name)) requests[name] ??= limits[name];
  if (!isEmpty(requests)) resources['requests'] = requests;
}

/** Returns the amounts of cpu and memory that are greater than zero. */
const computeOf = (holder: JsonObject, part: Part): Amounts =>
  new Map([...amountsOf(holder, part)].filter(([name, amount]) => COMPUTE.has(name) && amount.sign > 0));

/** Returns the QoS class of a pod, by the requests and limits of the pod or else of its containers. */
export function qosClass(pod: KubeObject): string {
  const spec = objectAt(pod, 'spec') ?? {};
  const containers = [...objectsOf(spec['containers']), ...objectsOf(spec['initContainers'])];
  const holders = objectAt(spec, 'resources') === undefined ? containers : [spec];
  const eachLimits = holders.map((holder) => computeOf(holder, 'limits'));
  const limits = sum(...eachLimits);
  const requests = sum(...holders.map((holder) => computeOf(holder, 'requests')));
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const allLimited = eachLimits.every((own) => own.size === COMPUTE.size);
  const equal = [...limits].every(([name, limit]) => requests.get(name)?.compare(limit) === 0);
  return allLimited && equal ? 'Guaranteed' : 'Burstable';
}

/** Validates pod-level resources: the pod needs at least what its containers need together, and no container may have more than the pod. */
export function aggregateErrors(spec: JsonObject, resources: JsonObject, path: FieldPath): FieldError[] {
  const whole = { resources };
  const requests = amountsOf(whole, 'requests');
  const limits = amountsOf(whole, 'limits');
  const errors: FieldError[] = [];
  const compare = (part: Part, given: Amounts, needed: Amounts, looksAt: (name: string) => boolean): void => {
    for (const [name, amount] of [...needed].sort(([a], [b]) => compareUtf8(a, b))) {
      const has = given.get(name);
      if (has === undefined || !looksAt(name) || amount.compare(has) <= 0) continue;
      const why = `must be greater than or equal to aggregate container ${part} of ${amount.toString()}`;
      errors.push(invalid(path.child(part).key(name), has.toString(), why));
    }
  };
  compare('requests', requests, together(spec, 'requests'), () => true);
  compare('limits', limits, together(spec, 'limits'), isHugePages);
  objectsOf(spec['containers']).forEach((container, i) => {
    for (const [name, limit] of [...amountsOf(container, 'limits')].sort(([a], [b]) => compareUtf8(a, b))) {
      const most = limits.get(name);
      if (most === undefined || limit.compare(most) <= 0) continue;
      const at = path.child('containers').index(i).key(name).child('limits');
      errors.push(invalid(at, limit.toString(), `must be less than or equal to pod limits of ${most.toString()}`));
    }
  });
  return errors;
}
