// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject } from '../json/json.js';
import type { KubeObject } from '../meta/meta.js';
import type { FieldSelectorRequirement, LabelSelectorRequirement } from './meta.js';

export interface FieldSelectorAttributes extends JsonObject {
  rawSelector?: string;
  requirements?: FieldSelectorRequirement[];
}

export interface LabelSelectorAttributes extends JsonObject {
  rawSelector?: string;
  requirements?: LabelSelectorRequirement[];
}

export interface LocalSubjectAccessReview extends KubeObject {
  spec?: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export interface NonResourceAttributes extends JsonObject {
  path?: string;
  verb?: string;
}

export interface NonResourceRule extends JsonObject {
  verbs?: string[] | null;
  nonResourceURLs?: string[];
}

export interface ResourceAttributes extends JsonObject {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: FieldSelectorAttributes;
  labelSelector?: LabelSelectorAttributes;
}

export interface ResourceRule extends JsonObject {
  verbs?: string[] | null;
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

export interface SelfSubjectAccessReview extends KubeObject {
  spec?: SelfSubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export interface SelfSubjectAccessReviewSpec extends JsonObject {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

export interface SelfSubjectRulesReview extends KubeObject {
  spec?: SelfSubjectRulesReviewSpec;
  status?: SubjectRulesReviewStatus;
}

export interface SelfSubjectRulesReviewSpec extends JsonObject {
  namespace?: string;
}

export interface SubjectAccessReview extends KubeObject {
  spec?: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export interface SubjectAccessReviewSpec extends JsonObject {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
  user?: string;
  groups?: string[];
  extra?: Record<string, string[] | null>;
  uid?: string;
}

export interface SubjectAccessReviewStatus extends JsonObject {
  allowed?: boolean;
  denied?: boolean;
  reason?: string;
  evaluationError?: string;
}

export interface SubjectRulesReviewStatus extends JsonObject {
  resourceRules?: ResourceRule[] | null;
  nonResourceRules?: NonResourceRule[] | null;
  incomplete?: boolean;
  evaluationError?: string;
}
