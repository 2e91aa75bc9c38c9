import { objectAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { AdmissionPlugin } from '../interfaces.js';
import { refusal } from '../refusal.js';
import { isAboutCore, isCore } from './core-resources.js';

function externalIPs(service: KubeObject | undefined): readonly unknown[] {
  const addresses = objectAt(service, 'spec')?.['externalIPs'];
  return Array.isArray(addresses) ? addresses : [];
}

/** Refuses addresses in `spec.externalIPs` that the service did not have before. */
export function denyServiceExternalIPs(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    readsObjects: (resource) => isCore(resource, 'services'),
    validate(attributes) {
      const { object, oldObject } = attributes;
      if (!isAboutCore(attributes, 'services')) return;
      const before = new Set(externalIPs(oldObject));
      if (externalIPs(object).every((address) => before.has(address))) return;
      throw refusal(attributes, 'Use of external IPs is denied by admission control');
    },
  };
}
