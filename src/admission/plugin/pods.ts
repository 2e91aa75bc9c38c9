import { ApiError, newForbidden } from '../../apimachinery/meta/errors.js';
import { isObject, type JsonObject, objectAt, textAt } from '../../apimachinery/json/json.js';
import { type GroupResource, type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../interfaces.js';
import { isAboutCore, isCore } from './core-resources.js';
import { getOwn } from '../../util/get-own.js';

const changes = (operation: string): boolean => operation === 'CREATE' || operation === 'UPDATE';

const isPods = (resource: GroupResource): boolean => isCore(resource, 'pods');

/** Returns the spec of the pod that a request writes, or undefined if it writes anything else. */
function podSpec(attributes: AdmissionAttributes): JsonObject | undefined {
  const { object } = attributes;
  if (object === undefined || !isAboutCore(attributes, 'pods')) return undefined;
  return objectAt(object, 'spec') ?? (object['spec'] = {});
}

/** The PriorityClasses that always exist. */
const PRIORITIES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

const PREEMPTION = 'PreemptLowerPriority';

/** Sets the priority of pods from their PriorityClass. Annex has no PriorityClasses other than the built-in ones. */
export function podPriority(): AdmissionPlugin {
  return {
    name: 'Priority',
    handles: changes,
    readsObjects: isPods,
    admit(attributes) {
      const spec = podSpec(attributes);
      if (spec === undefined) return;
      if (attributes.operation === 'CREATE') setPriority(attributes, spec);
      else keepPriority(spec, attributes.oldObject);
    },
  };
}

function setPriority({ resource, name, object }: AdmissionAttributes, spec: JsonObject): void {
  const refuse = (why: string): Error => newForbidden(resource, object?.metadata.name ?? name, why);
  const className = textAt(spec, 'priorityClassName');
  const priority = className === '' ? 0 : getOwn(PRIORITIES, className);
  if (priority === undefined) throw refuse(`no PriorityClass with name ${className} was found`);
  const given = spec['priority'];
  if (typeof given === 'number' && given !== priority) {
    throw refuse(
      `the integer value of priority (${String(given)}) must not be provided in pod spec; priority admission controller computed ${String(priority)} from the given PriorityClass name`,
    );
  }
  spec['priority'] = priority;
  const policy = spec['preemptionPolicy'];
  if (typeof policy === 'string' && policy !== PREEMPTION) {
    throw refuse(
      `the string value of PreemptionPolicy (${policy}) must not be provided in pod spec; priority admission controller computed ${PREEMPTION} from the given PriorityClass name`,
    );
  }
  spec['preemptionPolicy'] = PREEMPTION;
}

/** Keeps the two fields if the client omits them, because it may not know them. */
function keepPriority(spec: JsonObject, old: KubeObject | undefined): void {
  const was = old === undefined ? undefined : objectAt(old, 'spec');
  for (const field of ['priority', 'preemptionPolicy']) {
    if (spec[field] === undefined && was?.[field] !== undefined) spec[field] = was[field];
  }
}

/** Refuses pods with a RuntimeClass, because Annex has none, and fields that only a RuntimeClass may set. */
export function runtimeClass(): AdmissionPlugin {
  return {
    name: 'RuntimeClass',
    handles: (operation) => operation === 'CREATE',
    readsObjects: isPods,
    admit(attributes) {
      const spec = podSpec(attributes);
      if (spec === undefined) return;
      const { resource, name, object } = attributes;
      const refuse = (why: string): Error =>
        newForbidden(resource, object?.metadata.name || name, `pod rejected: ${why}`);
      const className = spec['runtimeClassName'];
      if (className === '') throw new ApiError(500, '', 'resource name may not be empty');
      if (typeof className === 'string') throw refuse(`RuntimeClass ${quote(className)} not found`);
      if (isObject(spec['overhead'])) {
        throw refuse('Pod Overhead set without corresponding RuntimeClass defined Overhead');
      }
    },
  };
}

const UNREADY = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const TOLERATION_SECONDS = 300;

/** Adds tolerations so that pods stay for five minutes on a node that is not ready or unreachable, unless they have their own. */
export function defaultTolerationSeconds(): AdmissionPlugin {
  return {
    name: 'DefaultTolerationSeconds',
    handles: changes,
    readsObjects: isPods,
    admit(attributes) {
      const spec = podSpec(attributes);
      if (spec === undefined) return;
      const given = spec['tolerations'];
      const tolerations = Array.isArray(given) ? given : [];
      const missing = UNREADY.filter(
        (key) => !tolerations.some((toleration) => isObject(toleration) && tolerates(toleration, key)),
      );
      if (missing.length === 0) return;
      spec['tolerations'] = [
        ...tolerations,
        ...missing.map((key) => ({
          key,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: TOLERATION_SECONDS,
        })),
      ];
    },
  };
}

function tolerates(toleration: JsonObject, taint: string): boolean {
  const key = textAt(toleration, 'key');
  const effect = textAt(toleration, 'effect');
  return (key === '' || key === taint) && (effect === '' || effect === 'NoExecute');
}
