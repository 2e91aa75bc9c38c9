import { objectAt, stringAt } from '../../../../apimachinery/json/json.js';
import { builtinType } from '../../shared/resource-type.js';
import { signingRequestApprovalStrategy, signingRequestStatusStrategy, signingRequestStrategy } from './strategy.js';
import { signingRequestTable } from './table.js';

export const certificateSigningRequests = builtinType({
  group: 'certificates.k8s.io',
  resource: 'certificatesigningrequests',
  singular: 'certificatesigningrequest',
  kind: 'CertificateSigningRequest',
  shortNames: ['csr'],
  namespaced: false,
  validateName: () => [],
  strategy: signingRequestStrategy,
  subresources: { approval: signingRequestApprovalStrategy, status: signingRequestStatusStrategy },
  table: signingRequestTable,
  selectableFields: ['spec.signerName'],
  fields: (request) => ({ 'spec.signerName': stringAt(objectAt(request, 'spec'), 'signerName') ?? '' }),
});
