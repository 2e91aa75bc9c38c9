import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { AuthenticationRequest } from '../../authentication/authenticator/interfaces.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type { AuditLevel, AuditRecorder } from '../../request/audit.js';
import type { RequestContext } from '../../request/context.js';
import { first, parseQuery } from '../../request/query.js';
import type { RequestInfo } from '../../request/request-info.js';
import { LazySignal } from '../../util/cancellation.js';
import { headerText } from '../../util/text/header-text.js';
import { WheelEntry } from '../../util/timer-wheel.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import { WarningRecorder } from './warnings/recorder.js';
import type { Layer } from '../../util/metrics/stopwatch.js';
import type { Span } from '../../util/tracing.js';
import type { Timings } from './timings.js';

/** Milliseconds. Requests that take longer record where the time went. */
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

/** The reason with which signals abort; created once, because an error with its stack is expensive. */
const ABORT_REASON = new Error('the client disconnected or the request deadline was exceeded');

/** The connection that carries a request. */
export interface Connection {
  readonly socket: TLSSocket | undefined;
  readonly http2: boolean;
  /**
   * Stops accepting requests on this connection; those in flight finish (HTTP/2: GOAWAY). `atOnce` also refuses requests that may
   * already be on their way.
   */
  retire(atOnce?: boolean): void;
}

/** One request and its response on the way through the chain. It is the context of handlers and the request that authenticators receive. */
export class Exchange extends WheelEntry implements RequestContext, AuthenticationRequest {
  info: RequestInfo = NO_INFO;
  user: UserInfo = NOBODY;
  /** The authenticated user; differs from `user` under impersonation. */
  requestor: UserInfo = NOBODY;
  /** True if a trusted front proxy sent the request on behalf of its user. */
  viaProxy = false;
  /** The verb that allowed the impersonation, if it is a constrained one; else empty. */
  impersonationConstraint = '';
  dryRun = false;
  served = false;
  handled = false;
  /** True if the client waits for `100 Continue` before it sends the body. */
  expectsContinue = false;
  /** True once the handler has returned. */
  finished = false;
  longRunning = false;
  timedOut = false;
  /** The duration of authentication, in milliseconds. */
  authenticationMillis = 0;
  /** Milliseconds spent in mutating webhooks, which run one after the other, and in the slowest validating webhook. */
  mutatingWebhookMillis = 0;
  validatingWebhookMillis = 0;
  warningsEnabled = false;
  annotations: Map<string, string> | undefined;
  audit: AuditRecorder | undefined;
  stopwatch: Timings | undefined;
  /** Set by the deadline filter, like `onExpire`. */
  deadline: number | undefined;
  onExpire: (() => void) | undefined;
  /** Called if an annotation of the audit event already has another value, which is kept. */
  onConflict: ((auditId: string, key: string, value: string, known: string) => void) | undefined;
  private warnings: WarningRecorder | undefined;
  private ending: LazySignal | undefined;

  constructor(
    readonly request: HttpRequest,
    readonly response: HttpResponse,
    readonly connection: Connection,
    readonly auditId: string,
    /** Wall-clock milliseconds. */
    readonly receivedAt: number,
    /** Monotonic milliseconds. */
    readonly startedAt: number,
    /** The decoded path. */
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

  get fieldManager(): string {
    return this.rawQuery.includes('fieldManager=') ? first(parseQuery(this.rawQuery), 'fieldManager') : '';
  }

  get span(): Span | undefined {
    return this.stopwatch?.span;
  }

  set span(span: Span | undefined) {
    if (this.stopwatch !== undefined) this.stopwatch.span = span;
  }

  get cancellation(): LazySignal {
    if (this.ending === undefined) {
      this.ending = new LazySignal(ABORT_REASON);
      if (this.timedOut || this.response.destroyed) this.ending.abort();
    }
    return this.ending;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  /** Has no effect if no signal was requested. */
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

  recordWebhookDuration(layer: 'mutating-webhook' | 'validating-webhook', millis: number): void {
    if (layer === 'mutating-webhook') this.mutatingWebhookMillis += millis;
    else this.validatingWebhookMillis = Math.max(this.validatingWebhookMillis, millis);
  }

  /** Returns the time that the request spent in each layer, in milliseconds. */
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

  /** Cuts the response off: resets the stream or closes the connection. */
  destroy(): void {
    this.response.destroy();
  }
}
