import { isObject, objectAt } from '../../apimachinery/json/json.js';
import type { AdmissionPlugin } from '../interfaces.js';
import { isAboutCore, isCore } from './core-resources.js';

const creates = (operation: string): boolean => operation === 'CREATE';

const PROTECTION: Readonly<Record<string, string>> = {
  persistentvolumes: 'kubernetes.io/pv-protection',
  persistentvolumeclaims: 'kubernetes.io/pvc-protection',
};

/** Protects volumes and claims from removal while they are in use, with a finalizer that a controller removes. */
export function storageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    handles: creates,
    readsObjects: ({ group, resource }) => group === '' && PROTECTION[resource] !== undefined,
    admit(attributes) {
      const { object, resource } = attributes;
      const finalizer = PROTECTION[resource.resource];
      if (finalizer === undefined || object === undefined || !isAboutCore(attributes, resource.resource)) return;
      const finalizers = object.metadata.finalizers ?? [];
      if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
    },
  };
}

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** Taints a new node so that no pods are scheduled to it until it has reported that it is ready. */
export function taintNodesByCondition(): AdmissionPlugin {
  return {
    name: 'TaintNodesByCondition',
    handles: creates,
    readsObjects: (resource) => isCore(resource, 'nodes'),
    admit(attributes) {
      const { object } = attributes;
      if (object === undefined || !isAboutCore(attributes, 'nodes')) return;
      const spec = objectAt(object, 'spec') ?? (object['spec'] = {});
      const given = spec['taints'];
      const taints = Array.isArray(given) ? given : [];
      const tainted = taints.some(
        (taint) => isObject(taint) && taint['key'] === NOT_READY.key && taint['effect'] === NOT_READY.effect,
      );
      if (!tainted) spec['taints'] = [...taints, { ...NOT_READY }];
    },
  };
}
