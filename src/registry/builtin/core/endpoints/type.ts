import type { Endpoints } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { numberOf } from '../../shared/fields.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { applyEndpointsDefaults, endpointsStrategy } from './strategy.js';

const SHOWN = 3;

const withPort = (ip: string, port: number): string =>
  ip.includes(':') ? `[${ip}]:${String(port)}` : `${ip}:${String(port)}`;

function addresses(object: Endpoints): string {
  const subsets = object.subsets ?? [];
  if (subsets.length === 0) return '<none>';
  const all: string[] = [];
  for (const subset of subsets) {
    const ips = (subset.addresses ?? []).map((address) => address.ip ?? '');
    const ports = subset.ports ?? [];
    if (ports.length === 0) all.push(...ips);
    for (const port of ports) all.push(...ips.map((ip) => withPort(ip, numberOf(port.port))));
  }
  const shown = all.slice(0, SHOWN).join(',');
  return all.length > SHOWN ? `${shown} + ${String(all.length - SHOWN)} more...` : shown;
}

const endpointsTable = tableOf<Endpoints>('api/v1/endpoints', (object) => [
  object.metadata.name ?? '',
  addresses(object),
  Age.of(object),
]);

export const endpoints = builtinType<Endpoints>({
  group: '',
  resource: 'endpoints',
  kind: 'Endpoints',
  shortNames: ['ep'],
  namespaced: true,
  registryPath: 'services/endpoints',
  validateName: nameIsDnsSubdomain,
  strategy: endpointsStrategy,
  table: endpointsTable,
  lifecycle: { deprecated: 33, replacement: 'discovery.k8s.io/v1 EndpointSlice' },
  applyDefaults: applyEndpointsDefaults,
});
