import type { UserInfo } from '../authentication/user/user.js';
import type { AuditLevel, AuditRecorder } from './audit.js';
import type { YieldPoint } from '@annex/cel/yield-point';
import type { Cancellation } from '../util/cancellation.js';
import type { Stopwatch } from '../util/metrics/stopwatch.js';
import type { Span } from '../util/tracing.js';
import type { RequestInfo } from './request-info.js';

/** The context of a request, passed from the first filter to the store. */
export interface RequestContext {
  readonly info: RequestInfo;
  /** The effective user (after impersonation). */
  user: UserInfo;
  /** The authenticated user, if another one than `user` may be effective. */
  readonly requestor?: UserInfo;
  readonly userAgent: string;
  /** The field manager that the request names; '' or undefined if it names none. */
  readonly fieldManager?: string;
  readonly auditId: string;
  /** Aborts when the client goes away or the deadline passes. Created on first use, which is expensive; see `cancellation`. */
  readonly signal: AbortSignal;
  /** Aborts when `signal` does. */
  readonly cancellation: Cancellation;
  /** Milliseconds since the epoch when the request arrived. */
  readonly receivedAt: number;
  /** The time at which the request ends in any case, in monotonic milliseconds; undefined if it has no deadline. */
  readonly deadline?: number | undefined;
  /** Adds a Warning header (agent `-`, code 299) to the response. Repeated texts are sent once, and their total size is bounded. */
  warn(text: string): void;
  /** Adds an annotation to the audit event, if the event's level is at least `level`. */
  annotate(key: string, value: string, level?: AuditLevel): void;
  /** Records the milliseconds that an admission webhook took, which do not count as the server's own. */
  recordWebhookDuration?(layer: 'mutating-webhook' | 'validating-webhook', millis: number): void;
  /** Records what the request spends its time on; undefined if not needed. */
  readonly stopwatch?: Stopwatch | undefined;
  /** The current span, if the request is traced. */
  span?: Span | undefined;
  /** The audit recorder; undefined if the request is not audited. */
  readonly audit?: AuditRecorder | undefined;
  /** True for a dry run, which does everything except the write. */
  dryRun: boolean;
  /**
   * For the evaluation of validation rules, which cannot yield: the returned function is called at their yield points, and throws
   * if a worker is to do the write. Undefined if the rules may take any time.
   */
  ruleYieldPoint?: (() => YieldPoint) | undefined;
  /** Set by the resource handler once it knows that the resource exists; only then do metrics name the resource. */
  served?: boolean;
  /** Set once a handler of the resource has the request; from then on, errors are encoded as the handler does. */
  handled?: boolean;
}
