import { type JsonObject, objectAt, objectsOf, textAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { Quantity } from '../apimachinery/meta/quantity.js';
import { add, greatest, filterResources, type ResourceList, resourceList } from './resource-list.js';

type Part = 'requests' | 'limits';

const NOTHING: ResourceList = new Map();

/** Reports whether the resource can be specified at pod level. */
const isPodLevel = (name: string): boolean => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');

const partOf = (holder: JsonObject | undefined, part: Part): ResourceList =>
  resourceList(objectAt(holder, 'resources')?.[part]);

/** Reports whether the pod has pod-level resources. */
export function hasPodLevelResources(pod: KubeObject): boolean {
  const spec = objectAt(pod, 'spec');
  return (['requests', 'limits'] as const).some((part) => [...partOf(spec, part).keys()].some(isPodLevel));
}

/** Returns the maximum that a pod needs at any time: init containers run in sequence, sidecars alongside all other containers. */
export function podResources(pod: KubeObject, part: Part): ResourceList {
  const spec = objectAt(pod, 'spec');
  const whole = filterResources(partOf(spec, part), isPodLevel);
  const total = new Map([...containerResources(pod, part), ...whole]);
  for (const [name, overhead] of resourceList(spec?.['overhead'])) {
    const amount = total.get(name);
    // Overhead does not create a limit.
    if (part === 'requests') total.set(name, amount?.add(overhead) ?? overhead);
    else if (amount !== undefined && amount.sign !== 0) total.set(name, amount.add(overhead));
  }
  return total;
}

function containerResources(pod: KubeObject, part: Part): ResourceList {
  const spec = objectAt(pod, 'spec');
  const effective = effectiveResources(pod, part);
  let total = NOTHING;
  for (const container of objectsOf(spec?.['containers'])) total = add(total, effective(container));
  let sidecars = NOTHING;
  let initial = NOTHING;
  for (const container of objectsOf(spec?.['initContainers'])) {
    if (container['restartPolicy'] === 'Always') {
      const own = effective(container);
      total = add(total, own);
      sidecars = add(sidecars, own);
      initial = greatest(initial, sidecars);
    } else initial = greatest(initial, add(partOf(container, part), sidecars));
  }
  return greatest(total, initial);
}

/** While a pod is being resized, the maximum of its current and its desired resources counts. */
function effectiveResources(pod: KubeObject, part: Part): (container: JsonObject) => ResourceList {
  const status = objectAt(pod, 'status');
  const statuses = new Map(
    ['containerStatuses', 'initContainerStatuses'].flatMap((list) =>
      objectsOf(status?.[list]).map((one): [string, JsonObject] => [textAt(one, 'name'), one]),
    ),
  );
  const pending = objectsOf(status?.['conditions']).find(({ type }) => type === 'PodResizePending');
  const infeasible = pending?.['reason'] === 'Infeasible';
  return (container) => {
    const wanted = partOf(container, part);
    const found = statuses.get(textAt(container, 'name'));
    if (objectAt(found, 'resources') === undefined) return wanted;
    const allocated = part === 'requests' ? resourceList(found?.['allocatedResources']) : NOTHING;
    const actual = greatest(partOf(found, part), allocated);
    return infeasible ? actual : greatest(wanted, actual);
  };
}

/** Reports whether the pod has no requests and no limits for CPU and memory. */
export function isBestEffort(pod: KubeObject): boolean {
  const known = textAt(objectAt(pod, 'status'), 'qosClass');
  if (known !== '') return known === 'BestEffort';
  const spec = objectAt(pod, 'spec');
  const holders =
    objectAt(spec, 'resources') === undefined
      ? [...objectsOf(spec?.['containers']), ...objectsOf(spec?.['initContainers'])]
      : [spec];
  const compute = (amount: Quantity | undefined): boolean => amount !== undefined && amount.sign > 0;
  return !holders.some((holder) =>
    (['requests', 'limits'] as const).some((part) => {
      const list = partOf(holder, part);
      return compute(list.get('cpu')) || compute(list.get('memory'));
    }),
  );
}
