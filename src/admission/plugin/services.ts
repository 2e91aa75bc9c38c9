import { objectAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { AdmissionPlugin } from '../interfaces.js';
import { refusal } from '../refusal.js';

function externalIPs(service: KubeObject | undefined): readonly unknown[] {
  const addresses = objectAt(service, 'spec')?.['externalIPs'];
  return Array.isArray(addresses) ? addresses : [];
}

/** Refuses addresses in `spec.externalIPs` that the service did not have before. */
export function denyServiceExternalIPs(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    readsObjects: ({ group, resource }) => group === '' && resource === 'services',
    validate(attributes) {
      const { resource, subresource, object, oldObject } = attributes;
      if (resource.group !== '' || resource.resource !== 'services' || subresource !== '') return;
      const before = new Set(externalIPs(oldObject));
      if (externalIPs(object).every((address) => before.has(address))) return;
      throw refusal(attributes, 'Use of external IPs is denied by admission control');
    },
  };
}
