import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { resourceList, ZERO } from '../../quota/resource-list.js';
import type { Quantity } from '../../apimachinery/meta/quantity.js';
import type { AdmissionPlugin } from '../interfaces.js';
import { refusal } from '../refusal.js';
import { isAboutCore, isCore } from './core-resources.js';

const CLAIMS = 'persistentvolumeclaims';

const sizeOf = (claim: KubeObject | undefined): Quantity =>
  resourceList(objectAt(objectAt(claim, 'spec'), 'resources')?.['requests']).get('storage') ?? ZERO;

/** Refuses claims that grow: only a StorageClass may allow that, and Annex has none. */
export function persistentVolumeClaimResize(): AdmissionPlugin {
  return {
    name: 'PersistentVolumeClaimResize',
    handles: (operation) => operation === 'UPDATE',
    readsObjects: (resource) => isCore(resource, CLAIMS),
    validate(attributes) {
      const { object, oldObject } = attributes;
      if (!isAboutCore(attributes, CLAIMS)) return;
      if (sizeOf(object).compare(sizeOf(oldObject)) <= 0) return;
      if (stringAt(objectAt(oldObject, 'status'), 'phase') !== 'Bound') {
        throw refusal(attributes, 'Only bound persistent volume claims can be expanded');
      }
      throw refusal(
        attributes,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      );
    },
  };
}
