import type { UserInfo } from '../authentication/user/user.js';
import type { AuditLevel, AuditRecorder } from './audit.js';
import type { YieldPoint } from '@annex/cel/yield-point';
import type { Cancellation } from '../util/cancellation.js';
import type { Stopwatch } from '../util/metrics/stopwatch.js';
import type { Span } from '../util/tracing.js';
import type { RequestInfo } from './request-info.js';

/** What goes with a request from the first filter to the store. */
export interface RequestContext {
  readonly info: RequestInfo;
  /** The user in force (after impersonation). */
  user: UserInfo;
  readonly userAgent: string;
  readonly auditId: string;
  /** Aborts when the client goes away or the deadline passes. Made when it is first asked for, which costs; see `cancellation`. */
  readonly signal: AbortSignal;
  /** Aborts when `signal` does. */
  readonly cancellation: Cancellation;
  /** Milliseconds since the epoch when the request arrived. */
  readonly receivedAt: number;
  /** When the request ends in any case, in monotonic milliseconds; undefined: it has no end. */
  readonly deadline?: number | undefined;
  /** Adds a Warning header (agent `-`, code 299) to the answer; repeated texts are sent once, and their total size is bounded. */
  warn(text: string): void;
  /** Adds an annotation to the audit event, if the event's level is at least `level`. */
  annotate(key: string, value: string, level?: AuditLevel): void;
  /** Adds the time that an admission webhook took, which is not the server's own. */
  waitedForWebhook?(layer: 'mutating-webhook' | 'validating-webhook', millis: number): void;
  /** Takes down what the request spends its time on; undefined: nobody wants to know. */
  readonly stopwatch?: Stopwatch | undefined;
  /** Where the request is traced: the work that it is at. */
  span?: Span | undefined;
  /** Where the request is audited; undefined: it is not. */
  readonly audit?: AuditRecorder | undefined;
  /** `--dry-run`: everything but the write. */
  dryRun: boolean;
  /**
   * For the evaluation of rules, which cannot yield: what it returns is called at its yield points, and throws where a worker is to do
   * the write. Undefined: the rules may take as long as they take.
   */
  ruleYieldPoint?: (() => YieldPoint) | undefined;
  /** The resource handler sets it once it knows that the resource exists: only then do metrics name the resource. */
  served?: boolean;
  /** Set once a handler of the resource has the request: from then on refusals are encoded as the handler does. */
  handled?: boolean;
}

/** Throws why the request is over, if it is; makes no signal for it. */
export function throwIfOver(context: Pick<RequestContext, 'cancellation' | 'signal'>): void {
  if (context.cancellation.aborted) context.signal.throwIfAborted();
}
