// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject } from '../json/json.js';
import type { KubeObject } from '../meta/meta.js';
import type { LabelSelector } from './meta.js';

export interface AggregationRule extends JsonObject {
  clusterRoleSelectors?: LabelSelector[];
}

export interface ClusterRole extends KubeObject {
  rules?: PolicyRule[] | null;
  aggregationRule?: AggregationRule;
}

export interface ClusterRoleBinding extends KubeObject {
  subjects?: Subject[];
  roleRef?: RoleRef;
}

export interface PolicyRule extends JsonObject {
  verbs?: string[] | null;
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Role extends KubeObject {
  rules?: PolicyRule[] | null;
}

export interface RoleBinding extends KubeObject {
  subjects?: Subject[];
  roleRef?: RoleRef;
}

export interface RoleRef extends JsonObject {
  apiGroup?: string;
  kind?: string;
  name?: string;
}

export interface Subject extends JsonObject {
  kind?: string;
  apiGroup?: string;
  name?: string;
  namespace?: string;
}
