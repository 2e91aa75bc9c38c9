import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { AuthenticationRequest } from '../../authentication/authenticator/interfaces.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type { AuditLevel, AuditRecorder } from '../../request/audit.js';
import type { RequestContext } from '../../request/context.js';
import type { RequestInfo } from '../../request/request-info.js';
import { LazySignal } from '../../util/cancellation.js';
import { headerText } from '../../util/text/header-text.js';
import { WheelEntry } from '../../util/timer-wheel.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import { WarningRecorder } from './warnings/recorder.js';
import type { Layer } from '../../util/metrics/stopwatch.js';
import type { Span } from '../../util/tracing.js';
import type { Timings } from './timings.js';

/** Requests that take longer note where the time went. */
export const SLOW_MILLIS = 500;

const NOBODY: UserInfo = { name: '', uid: '', groups: [], extra: {} };
const NO_INFO: RequestInfo = {
  isResourceRequest: false,
  path: '',
  verb: '',
  apiPrefix: '',
  apiGroup: '',
  apiVersion: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  parts: [],
  fieldSelector: '',
  labelSelector: '',
};

/** Why signals abort; made once, because an error with its stack is dear. */
const GONE = new Error('the client went away or the time of the request is over');

/** The connection that a request came on. */
export interface Connection {
  readonly socket: TLSSocket | undefined;
  readonly http2: boolean;
  /** No further requests on this connection; those under way finish (HTTP/2: GOAWAY). `atOnce`: also none that may be on their way. */
  retire(atOnce?: boolean): void;
}

/** One request with its answer on the way through the chain. It is the handlers' context and what authenticators see. */
export class Exchange extends WheelEntry implements RequestContext, AuthenticationRequest {
  info: RequestInfo = NO_INFO;
  user: UserInfo = NOBODY;
  /** The authenticated user; differs from `user` under impersonation. */
  requestor: UserInfo = NOBODY;
  /** A proxy that may speak for users has sent it. */
  viaProxy = false;
  /** The verb that allowed the impersonation, where it is a constrained one. */
  impersonationConstraint = '';
  dryRun = false;
  served = false;
  handled = false;
  /** The client waits for `100 Continue` before it sends the body. */
  expectsContinue = false;
  /** The handler has done its work. */
  finished = false;
  longRunning = false;
  timedOut = false;
  /** How long it took to find out who asks. */
  authenticationMillis = 0;
  /** How long mutating webhooks took, one after the other, and the slowest validating one. */
  mutatingWebhookMillis = 0;
  validatingWebhookMillis = 0;
  warningsEnabled = false;
  annotations: Map<string, string> | undefined;
  audit: AuditRecorder | undefined;
  stopwatch: Timings | undefined;
  /** Set by the deadline filter, as is what follows. */
  deadline: number | undefined;
  onExpire: (() => void) | undefined;
  /** Called for an annotation of the audit event that has another value already, which stays. */
  onConflict: ((auditId: string, key: string, value: string, known: string) => void) | undefined;
  private warnings: WarningRecorder | undefined;
  private ending: LazySignal | undefined;

  constructor(
    readonly request: HttpRequest,
    readonly response: HttpResponse,
    readonly connection: Connection,
    readonly auditId: string,
    /** By the wall clock. */
    readonly receivedAt: number,
    /** Monotonic. */
    readonly startedAt: number,
    /** Decoded. */
    readonly path: string,
    readonly rawQuery: string,
  ) {
    super();
  }

  get method(): string {
    return this.request.method ?? 'GET';
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  get rawHeaders(): readonly string[] {
    return this.request.rawHeaders;
  }

  get socket(): TLSSocket | undefined {
    return this.connection.socket;
  }

  get userAgent(): string {
    return headerText(this.request.headers['user-agent'] ?? '');
  }

  get span(): Span | undefined {
    return this.stopwatch?.span;
  }

  set span(span: Span | undefined) {
    if (this.stopwatch !== undefined) this.stopwatch.span = span;
  }

  get cancellation(): LazySignal {
    if (this.ending === undefined) {
      this.ending = new LazySignal(GONE);
      if (this.timedOut || this.response.destroyed) this.ending.abort();
    }
    return this.ending;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  /** Without effect where nobody wants to be told. */
  abort(): void {
    this.ending?.abort();
  }

  warn(text: string): void {
    if (!this.warningsEnabled) return;
    this.warnings ??= new WarningRecorder(this.response);
    this.warnings.add(text);
  }

  annotate(key: string, value: string, level: AuditLevel = 'Metadata'): void {
    if (level !== 'Metadata' && this.audit?.records(level) !== true) return;
    this.annotations ??= new Map();
    const known = this.annotations.get(key);
    if (known === undefined) this.annotations.set(key, value);
    else if (known !== value) this.onConflict?.(this.auditId, key, value, known);
  }

  waitedForWebhook(layer: 'mutating-webhook' | 'validating-webhook', millis: number): void {
    if (layer === 'mutating-webhook') this.mutatingWebhookMillis += millis;
    else this.validatingWebhookMillis = Math.max(this.validatingWebhookMillis, millis);
  }

  /** What the request spent its time on, in milliseconds. */
  phases(): Map<Layer, number> {
    const all = new Map<Layer, number>([
      ['authentication', this.authenticationMillis],
      ...(this.stopwatch?.layers ?? []),
    ]);
    all.set('mutating-webhook', this.mutatingWebhookMillis);
    all.set('validating-webhook', this.validatingWebhookMillis);
    return all;
  }

  override expire(): void {
    this.timedOut = true;
    this.onExpire?.();
  }

  /** Cuts the answer off: resets the stream or closes the connection. */
  destroy(): void {
    this.response.destroy();
  }
}
