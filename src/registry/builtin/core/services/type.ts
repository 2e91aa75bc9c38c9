import { objectAt, textAt } from '../../../../apimachinery/json/json.js';
import { nameIsDnsLabel } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyServiceDefaults } from './defaults.js';
import { serviceStatusStrategy, serviceStrategy } from './strategy.js';
import { serviceTable } from './table.js';

export const services = builtinType({
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
  // Endpoints belong to a service, whichever client wrote them.
  deletion: { companionResource: 'endpoints' },
  selectableFields: ['spec.clusterIP', 'spec.type'],
  fields: (service) => ({
    'spec.clusterIP': textAt(objectAt(service, 'spec'), 'clusterIP'),
    'spec.type': textAt(objectAt(service, 'spec'), 'type'),
  }),
});
