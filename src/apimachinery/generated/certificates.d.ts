// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject } from '../json/json.js';
import type { KubeObject } from '../meta/meta.js';

export interface CertificateSigningRequest extends KubeObject {
  spec?: CertificateSigningRequestSpec;
  status?: CertificateSigningRequestStatus;
}

export interface CertificateSigningRequestCondition extends JsonObject {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string | null;
  lastTransitionTime?: string | null;
}

export interface CertificateSigningRequestSpec extends JsonObject {
  request?: string;
  signerName?: string;
  expirationSeconds?: number;
  usages?: string[];
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[] | null>;
}

export interface CertificateSigningRequestStatus extends JsonObject {
  conditions?: CertificateSigningRequestCondition[];
  certificate?: string;
}
