import type { Status } from '../apimachinery/meta/errors.js';
import type { JsonValue } from '../apimachinery/json/json.js';

/** The lowest level of the audit policy at which data is recorded. */
export type AuditLevel = 'Metadata' | 'Request' | 'RequestResponse';

/** Records a request for auditing: its body and its response. Calls cost nothing if the level is too low. */
export interface AuditRecorder {
  /** Reports whether data of this level is recorded. */
  records(level: AuditLevel): boolean;
  /** Records the decoded request object. Called before it is modified. */
  requestObject(make: () => JsonValue): void;
  /** Records the response object. */
  responseObject(make: () => JsonValue): void;
  /** Records a Status response, of failure or success, at every level. */
  responseStatus(status: Status): void;
}
