import type { CertificateSigningRequest } from '../../../../apimachinery/generated/certificates.js';
import { type JsonObject, objectAt, stringsOf, textAt } from '../../../../apimachinery/json/json.js';
import { conditionsOf } from '../../../../apimachinery/meta/conditions.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';

export const APPROVED = 'Approved';
export const DENIED = 'Denied';
export const FAILED = 'Failed';

export const conditionType = (condition: JsonObject): string => textAt(condition, 'type');

export const hasCondition = (request: CertificateSigningRequest | undefined, type: string): boolean =>
  conditionsOf(request).some((condition) => conditionType(condition) === type);

/** Returns the issued certificate as base64, or '' if there is none. */
export const certificateOf = (request: CertificateSigningRequest): string => textAt(objectAt(request, 'status'), 'certificate');

export const signerNameOf = (request: JsonObject): string => textAt(objectAt(request, 'spec'), 'signerName');

/** Returns the PEM text of the certificate request. */
export const requestPem = (request: CertificateSigningRequest): string =>
  Buffer.from(textAt(objectAt(request, 'spec'), 'request'), 'base64').toString('latin1');

export function usagesOf(request: CertificateSigningRequest): string[] {
  return stringsOf(objectAt(request, 'spec')?.['usages']);
}
