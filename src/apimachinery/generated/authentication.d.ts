// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject } from '../json/json.js';
import type { KubeObject } from '../meta/meta.js';

export interface BoundObjectReference extends JsonObject {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface SelfSubjectReview extends KubeObject {
  status?: SelfSubjectReviewStatus;
}

export interface SelfSubjectReviewStatus extends JsonObject {
  userInfo?: UserInfo;
}

export interface TokenRequest extends KubeObject {
  spec?: TokenRequestSpec;
  status?: TokenRequestStatus;
}

export interface TokenRequestSpec extends JsonObject {
  audiences?: string[] | null;
  expirationSeconds?: number | bigint | null;
  boundObjectRef?: BoundObjectReference | null;
  attestations?: Record<string, string[] | null>;
}

export interface TokenRequestStatus extends JsonObject {
  token?: string;
  expirationTimestamp?: string | null;
}

export interface TokenReview extends KubeObject {
  spec?: TokenReviewSpec;
  status?: TokenReviewStatus;
}

export interface TokenReviewSpec extends JsonObject {
  token?: string;
  audiences?: string[];
}

export interface TokenReviewStatus extends JsonObject {
  authenticated?: boolean;
  user?: UserInfo;
  audiences?: string[];
  error?: string;
}

export interface UserInfo extends JsonObject {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[] | null>;
}
