import { type FieldError, type FieldPath, invalid } from '../../../../apimachinery/meta/field-error.js';
import type { Pod, PodSpec, ResourceRequirements } from '../../../../apimachinery/generated/core.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { compareUtf8 } from '../../../../apimachinery/meta/meta.js';
import type { Quantity } from '../../../../apimachinery/meta/quantity.js';
import { isHugePages, quantityOf } from '../../shared/resources.js';

type Part = 'requests' | 'limits';
type Amounts = ReadonlyMap<string, Quantity>;

type Resourced = Pick<PodSpec, 'resources'>;

function amountsOf(holder: Resourced, part: Part): Amounts {
  const list = holder.resources?.[part] ?? {};
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
function together(spec: PodSpec, part: Part): Amounts {
  let running = sum(...(spec.containers ?? []).map((container) => amountsOf(container, part)));
  let staying: Amounts = new Map();
  let starting: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container, part);
    if (container.restartPolicy === 'Always') {
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
 * Sets the defaults of pod-level resources, if there are any. The limits of huge pages are those of the containers. The requests are those
 * of the containers, or else the limits of the pod. The limits of what is requested are those of the containers, if all of them have some.
 */
export function defaultPodResources(spec: PodSpec): void {
  const resources = spec.resources;
  if (resources === undefined) return;
  const requests = { ...resources.requests };
  const limits = { ...resources.limits };
  if (isEmpty(requests) && isEmpty(limits)) return;
  const needed = together(spec, 'limits');
  for (const [name, amount] of needed) {
    if (isHugePages(name) && !Object.hasOwn(requests, name)) limits[name] ??= amount.toString();
  }
  for (const [name, amount] of together(spec, 'requests')) {
    if (COMPUTE.has(name)) requests[name] ??= amount.toString();
  }
  for (const [name, limit] of Object.entries(limits)) if (isPodLevel(name)) requests[name] ??= limit;
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  for (const name in requests) {
    const limit = needed.get(name);
    if (!isPodLevel(name) || Object.hasOwn(limits, name) || limit === undefined) continue;
    if (!containers.every((container) => amountsOf(container, 'limits').has(name))) continue;
    const request = quantityOf(requests[name]);
    limits[name] = (request.compare(limit) > 0 ? request : limit).toString();
  }
  if (!isEmpty(limits)) resources.limits = limits;
  if (!isEmpty(requests)) resources.requests = requests;
}

const isPodLevel = (name: string): boolean => COMPUTE.has(name) || isHugePages(name);

/** Reports whether a pod has resources of its own, and not only those of its containers. */
const hasOwnResources = (spec: PodSpec): boolean =>
  [...amountsOf(spec, 'requests').keys(), ...amountsOf(spec, 'limits').keys()].some(isPodLevel);

type QosClass = 'BestEffort' | 'Burstable' | 'Guaranteed';

/** Returns the class that all of them have; Burstable if they differ. */
function commonClass(classes: readonly QosClass[]): QosClass {
  const [first = 'BestEffort'] = classes;
  return classes.every((one) => one === first) ? first : 'Burstable';
}

function classOf(holder: Resourced): QosClass {
  const requests = amountsOf(holder, 'requests');
  const limits = amountsOf(holder, 'limits');
  return commonClass(
    [...COMPUTE].map((name) => {
      const request = requests.get(name);
      const limit = limits.get(name);
      const isZero = (amount: Quantity | undefined): boolean => amount === undefined || amount.sign === 0;
      if (isZero(request) && isZero(limit)) return 'BestEffort';
      return request !== undefined && limit?.compare(request) === 0 ? 'Guaranteed' : 'Burstable';
    }),
  );
}

/** Returns the QoS class of a pod, by the requests and limits of the pod or else of its containers. */
export function qosClass(pod: Pod): QosClass {
  const spec: PodSpec = pod.spec ?? {};
  if (hasOwnResources(spec)) return classOf(spec);
  return commonClass([...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(classOf));
}

/** Validates pod-level resources: the pod needs at least what its containers need together, and no container may have more than the pod. */
export function aggregateErrors(spec: PodSpec, resources: ResourceRequirements, path: FieldPath): FieldError[] {
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
  (spec.containers ?? []).forEach((container, i) => {
    for (const [name, limit] of [...amountsOf(container, 'limits')].sort(([a], [b]) => compareUtf8(a, b))) {
      const most = limits.get(name);
      if (most === undefined || limit.compare(most) <= 0) continue;
      const at = path.child('containers').index(i).key(name).child('limits');
      errors.push(invalid(at, limit.toString(), `must be less than or equal to pod limits of ${most.toString()}`));
    }
  });
  return errors;
}
