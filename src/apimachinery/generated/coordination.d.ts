// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject } from '../json/json.js';
import type { KubeObject } from '../meta/meta.js';

export interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

export interface LeaseSpec extends JsonObject {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
  strategy?: string;
  preferredHolder?: string;
}
