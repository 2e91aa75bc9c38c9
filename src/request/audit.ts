import type { Status } from '../apimachinery/meta/errors.js';
import type { JsonValue } from '../apimachinery/json/json.js';

/** From which level of the audit policy on something is written. */
export type AuditLevel = 'Metadata' | 'Request' | 'RequestResponse';

/** Records a request for auditing: its body and its response. Calls cost nothing where the level is too low. */
export interface AuditRecorder {
  /** Whether what belongs to this level is written. */
  records(level: AuditLevel): boolean;
  /** What the client sent, decoded; called before it is changed. */
  requestObject(make: () => JsonValue): void;
  /** What the client gets. */
  responseObject(make: () => JsonValue): void;
  /** That the client gets a Status, of failure or success; it is noted at every level. */
  responseStatus(status: Status): void;
}
