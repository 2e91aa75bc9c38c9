import type * as certificates from '../../../../apimachinery/generated/certificates.js';
import { conditionsOf } from '../../../../apimachinery/meta/conditions.js';

export const APPROVED = 'Approved';
export const DENIED = 'Denied';
export const FAILED = 'Failed';

export const conditionType = (condition: certificates.CertificateSigningRequestCondition): string =>
  condition.type ?? '';

export const hasCondition = (request: certificates.CertificateSigningRequest | undefined, type: string): boolean =>
  conditionsOf(request).some((condition) => conditionType(condition) === type);

/** Returns the issued certificate as base64, or '' if there is none. */
export const certificateOf = (request: certificates.CertificateSigningRequest): string =>
  request.status?.certificate ?? '';

export const signerNameOf = (request: certificates.CertificateSigningRequest): string => request.spec?.signerName ?? '';

/** Returns the PEM text of the certificate request. */
export const requestPem = (request: certificates.CertificateSigningRequest): string =>
  Buffer.from(request.spec?.request ?? '', 'base64').toString('latin1');

export function usagesOf(request: certificates.CertificateSigningRequest): string[] {
  return request.spec?.usages ?? [];
}
