import type { Service, ServiceSpec } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsLabel } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyServiceDefaults } from './defaults.js';
import { serviceStatusStrategy, serviceStrategy } from './strategy.js';
import { compareUtf8 } from '../../../../apimachinery/meta/meta.js';
import { numberOf } from '../../shared/fields.js';
import { Age, tableOf } from '../../shared/table.js';

const NONE = '<none>';

/** Formats labels as tables show them. */
function formatLabels(labels: Readonly<Record<string, string>> = {}): string {
  const keys = Object.keys(labels).sort(compareUtf8);
  return keys.length === 0 ? NONE : keys.map((key) => `${key}=${labels[key] ?? ''}`).join(',');
}

function externalIPs(service: Service, spec: ServiceSpec): string {
  const given = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return given.length === 0 ? NONE : given.join(',');
    case 'LoadBalancer': {
      const ingress = service.status?.loadBalancer?.ingress ?? [];
      const balanced = ingress.map((entry) => entry.ip || (entry.hostname ?? '')).filter((ip) => ip !== '');
      const all = [...new Set(balanced)].sort(compareUtf8).concat(given);
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    case 'ExternalName':
      return spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}

function ports(spec: ServiceSpec): string {
  const pieces = (spec.ports ?? []).map((port) => {
    const node = numberOf(port.nodePort);
    const number = String(numberOf(port.port));
    return `${number}${node > 0 ? `:${String(node)}` : ''}/${port.protocol ?? ''}`;
  });
  return pieces.length === 0 ? NONE : pieces.join(',');
}

const serviceTable = tableOf<Service>('api/v1/services', (service) => {
  const spec: ServiceSpec = service.spec ?? {};
  return [
    service.metadata.name ?? '',
    spec.type ?? '',
    (spec.clusterIPs ?? [])[0] ?? NONE,
    externalIPs(service, spec),
    ports(spec),
    Age.of(service),
    formatLabels(spec.selector),
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
    'spec.clusterIP': service.spec?.clusterIP ?? '',
    'spec.type': service.spec?.type ?? '',
  }),
});
