// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject } from '../json/json.js';

export interface Condition extends JsonObject {
  type?: string;
  status?: string;
  observedGeneration?: number | bigint;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export interface FieldSelectorRequirement extends JsonObject {
  key?: string;
  operator?: string;
  values?: string[];
}

export interface LabelSelector extends JsonObject {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface LabelSelectorRequirement extends JsonObject {
  key?: string;
  operator?: string;
  values?: string[];
}
