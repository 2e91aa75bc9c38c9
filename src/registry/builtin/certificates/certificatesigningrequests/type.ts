import type { CertificateSigningRequest } from '../../../../apimachinery/generated/certificates.js';
import { humanDuration } from '../../../../util/text/human-duration.js';
import { builtinType } from '../../shared/resource-type.js';
import { Age, tableOf } from '../../shared/table.js';
import { APPROVED, certificateOf, DENIED, FAILED, hasCondition, signerNameOf } from './conditions.js';
import { signingRequestApprovalStrategy, signingRequestStatusStrategy, signingRequestStrategy } from './strategy.js';

const NONE = '<none>';

function state(request: CertificateSigningRequest): string {
  const decision = hasCondition(request, DENIED) ? 'Denied' : hasCondition(request, APPROVED) ? 'Approved' : 'Pending';
  const failed = hasCondition(request, FAILED) ? ',Failed' : '';
  return `${decision}${failed}${certificateOf(request) === '' ? '' : ',Issued'}`;
}

function duration(request: CertificateSigningRequest): string {
  const seconds = request.spec?.expirationSeconds;
  return typeof seconds === 'number' ? humanDuration(seconds * 1000) : NONE;
}

const signingRequestTable = tableOf<CertificateSigningRequest>(
  'apis/certificates.k8s.io/v1/certificatesigningrequests',
  (request) => [
    request.metadata.name ?? '',
    Age.of(request),
    signerNameOf(request) || NONE,
    request.spec?.username ?? '',
    duration(request),
    state(request),
  ],
);

export const certificateSigningRequests = builtinType<CertificateSigningRequest>({
  group: 'certificates.k8s.io',
  resource: 'certificatesigningrequests',
  kind: 'CertificateSigningRequest',
  shortNames: ['csr'],
  namespaced: false,
  validateName: () => [],
  strategy: signingRequestStrategy,
  subresources: { approval: signingRequestApprovalStrategy, status: signingRequestStatusStrategy },
  table: signingRequestTable,
  selectableFields: ['spec.signerName'],
  fields: (request) => ({ 'spec.signerName': signerNameOf(request) }),
});
