import type { Service } from '../../../../apimachinery/generated/core.js';
import { type JsonObject, objectAt, objectsOf, stringsOf, textAt } from '../../../../apimachinery/json/json.js';
import { nameIsDnsLabel } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyServiceDefaults } from './defaults.js';
import { serviceStatusStrategy, serviceStrategy } from './strategy.js';
import { compareUtf8, type KubeObject } from '../../../../apimachinery/meta/meta.js';
import { numberOf } from '../../shared/fields.js';
import { Age, tableOf } from '../../shared/table.js';

const NONE = '<none>';

/** Formats labels as tables show them. */
function formatLabels(labels: JsonObject = {}): string {
  const keys = Object.keys(labels).sort(compareUtf8);
  return keys.length === 0 ? NONE : keys.map((key) => `${key}=${textAt(labels, key)}`).join(',');
}

function externalIPs(service: Service, spec: JsonObject): string {
  const given = stringsOf(spec['externalIPs']);
  switch (spec['type']) {
    case 'ClusterIP':
    case 'NodePort':
      return given.length === 0 ? NONE : given.join(',');
    case 'LoadBalancer': {
      const ingress = objectsOf(objectAt(objectAt(service, 'status'), 'loadBalancer')?.['ingress']);
      const balanced = ingress
        .map((entry) => textAt(entry, 'ip') || textAt(entry, 'hostname'))
        .filter((ip) => ip !== '');
      const all = [...new Set(balanced)].sort(compareUtf8).concat(given);
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    case 'ExternalName':
      return textAt(spec, 'externalName');
    default:
      return '<unknown>';
  }
}

function ports(spec: JsonObject): string {
  const pieces = objectsOf(spec['ports']).map((port) => {
    const node = numberOf(port['nodePort']);
    const number = String(numberOf(port['port']));
    return `${number}${node > 0 ? `:${String(node)}` : ''}/${textAt(port, 'protocol')}`;
  });
  return pieces.length === 0 ? NONE : pieces.join(',');
}

const serviceTable = tableOf<Service>('api/v1/services', (service) => {
  const spec = objectAt(service, 'spec') ?? {};
  return [
    service.metadata.name ?? '',
    textAt(spec, 'type'),
    stringsOf(spec['clusterIPs'])[0] ?? NONE,
    externalIPs(service, spec),
    ports(spec),
    Age.of(service),
    formatLabels(objectAt(spec, 'selector')),
  ];
});

export const services = builtinType<Service>({
  group: '',
  resource: 'services',
  kind: 'Service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  registryPath: 'services/specs',
  validateName: nameIsDnsLabel,
  strategy: serviceStrategy,
  subresources: { status: serviceStatusStrategy },
  table: serviceTable,
  applyDefaults: applyServiceDefaults,
  returnsDeletedObject: true,
  selectableFields: ['spec.clusterIP', 'spec.type'],
  fields: (service) => ({
    'spec.clusterIP': textAt(objectAt(service, 'spec'), 'clusterIP'),
    'spec.type': textAt(objectAt(service, 'spec'), 'type'),
  }),
});
