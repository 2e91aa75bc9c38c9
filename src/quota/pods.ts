import { type JsonObject, objectAt, objectsOf, stringAt, textAt } from '../apimachinery/json/json.js';
import { compareUtf8, type KubeObject } from '../apimachinery/meta/meta.js';
import { timeMillis } from '../apimachinery/meta/time.js';
import { isQualifiedName } from '../apimachinery/validation/names.js';
import { type Evaluator, matchesValues, type ScopeRequirement } from './evaluator.js';
import { countName } from './object-count.js';
import { hasPodLevelResources, isBestEffort, podResources } from './pod-resources.js';
import { add, ONE, type ResourceList, resourceList } from './resource-list.js';

const PODS = { group: '', resource: 'pods' };
const COUNT = countName(PODS);
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const REQUESTS = 'requests.';
const HUGE_PAGES = 'hugepages-';
const DEVICE_CLASS = 'deviceclass.resource.kubernetes.io/';
const NAMES = new Set([
  COUNT,
  'pods',
  ...COMPUTE,
  ...COMPUTE.map((name) => `requests.${name}`),
  ...COMPUTE.map((name) => `limits.${name}`),
]);
/** If a quota limits one of these resources, every container must specify it. */
const REQUIRED_COMPUTE_RESOURCES = new Set([
  'cpu',
  'memory',
  'requests.cpu',
  'requests.memory',
  'limits.cpu',
  'limits.memory',
]);

const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

const isExtended = (name: string): boolean =>
  (!isNative(name) && !name.startsWith(REQUESTS) && isQualifiedName(`${REQUESTS}${name}`).length === 0) ||
  name.startsWith(DEVICE_CLASS);

/** Measures pods with their requests and limits. */
export const pods: Evaluator = {
  groupResource: PODS,
  readsObjects: true,
  handles: ({ operation, subresource, object, oldObject }) => {
    if (subresource !== '') return false;
    if (operation === 'CREATE') return true;
    return object !== undefined && oldObject !== undefined && isTerminating(object) !== isTerminating(oldObject);
  },
  matchesResource: (name) =>
    NAMES.has(name) ||
    name.startsWith(HUGE_PAGES) ||
    name.startsWith(`${REQUESTS}${HUGE_PAGES}`) ||
    (name.startsWith(REQUESTS) && (!isNative(name) || name.startsWith(`${REQUESTS}${DEVICE_CLASS}`))),
  matchesScope,
  constraintViolation: (resources, pod) => {
    if (hasPodLevelResources(pod)) return undefined;
    const wanted = resources.filter((name) => REQUIRED_COMPUTE_RESOURCES.has(name)).sort(compareUtf8);
    const spec = objectAt(pod, 'spec');
    const containers = [...objectsOf(spec?.['containers']), ...objectsOf(spec?.['initContainers'])];
    const missing = wanted.flatMap((name) => {
      const without = containers.filter((container) => !ofContainer(container).has(name));
      const names = [...new Set(without.map((container) => textAt(container, 'name')))].sort(compareUtf8);
      return names.length === 0 ? [] : [`${name} for: ${names.join(',')}`];
    });
    return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`;
  },
  usage: (pod, now) => {
    const counted: ResourceList = new Map([[COUNT, ONE]]);
    if (!isCharged(pod, now)) return counted;
    return add(counted, compute(podResources(pod, 'requests'), podResources(pod, 'limits')));
  },
};

const ofContainer = (container: JsonObject): ResourceList => {
  const resources = objectAt(container, 'resources');
  return compute(resourceList(resources?.['requests']), resourceList(resources?.['limits']));
};

/** Returns the resources under their names in quotas. */
function compute(requests: ResourceList, limits: ResourceList): ResourceList {
  const result = new Map([['pods', ONE]]);
  for (const [name, amount] of requests) {
    if (COMPUTE.includes(name) || name.startsWith(HUGE_PAGES))
      result.set(name, amount).set(`${REQUESTS}${name}`, amount);
    else if (isExtended(name)) result.set(`${REQUESTS}${name}`, amount);
  }
  for (const name of COMPUTE) {
    const amount = limits.get(name);
    if (amount !== undefined) result.set(`limits.${name}`, amount);
  }
  return result;
}

/** Reports whether the pod uses resources: not if it has terminated or its deletion grace period is over. */
function isCharged({ metadata, ...pod }: KubeObject, now: number): boolean {
  const phase = stringAt(objectAt(pod, 'status'), 'phase');
  if (phase === 'Failed' || phase === 'Succeeded') return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || typeof deletionGracePeriodSeconds !== 'number') return true;
  const deletedAt = timeMillis(deletionTimestamp);
  return deletedAt === undefined || now <= deletedAt + deletionGracePeriodSeconds * 1000;
}

function isTerminating(pod: KubeObject): boolean {
  const seconds = objectAt(pod, 'spec')?.['activeDeadlineSeconds'];
  return (typeof seconds === 'number' || typeof seconds === 'bigint') && seconds >= 0;
}

function matchesScope(requirement: ScopeRequirement, pod: KubeObject): boolean {
  switch (requirement.scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'PriorityClass': {
      const name = textAt(objectAt(pod, 'spec'), 'priorityClassName');
      return matchesValues(requirement, new Set(name === '' ? [] : [name]));
    }
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(pod);
    default:
      return false;
  }
}

/** Reports whether an affinity term selects pods in other namespaces. */
function crossesNamespaces(pod: KubeObject): boolean {
  const affinity = objectAt(objectAt(pod, 'spec'), 'affinity');
  return ['podAffinity', 'podAntiAffinity'].some((kind) => {
    const terms = objectAt(affinity, kind);
    const required = objectsOf(terms?.['requiredDuringSchedulingIgnoredDuringExecution']);
    const preferred = objectsOf(terms?.['preferredDuringSchedulingIgnoredDuringExecution']);
    return [...required, ...preferred.map((one) => objectAt(one, 'podAffinityTerm') ?? {})].some((term) => {
      const namespaces = term['namespaces'];
      return (Array.isArray(namespaces) && namespaces.length > 0) || term['namespaceSelector'] !== undefined;
    });
  });
}
