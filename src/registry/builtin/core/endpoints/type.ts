import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyEndpointsDefaults, endpointsStrategy } from './strategy.js';
import { endpointsTable } from './table.js';

export const endpoints = builtinType({
  group: '',
  resource: 'endpoints',
  singular: 'endpoints',
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
