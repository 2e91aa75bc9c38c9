import { isIP } from 'node:net';
import { type ApiError, type Status, toApiError } from '../../apimachinery/meta/errors.js';
import { isObject, type JsonObject, type JsonValue, stringAt, stringifyJson } from '../../apimachinery/json/json.js';
import { formatMicroTime } from '../../apimachinery/meta/meta.js';
import { userInfoJson } from '../../authentication/user/user.js';
import type { AuthorizerAttributes } from '../../authorization/authorizer/interfaces.js';
import type { AuditLevel, AuditRecorder } from '../../request/audit.js';
import type { Clock } from '../../util/clock.js';
import { formatGoDuration } from '../../go/duration.js';
import { messageOf } from '../../util/error-message.js';
import { truncated } from '../../util/text/truncated.js';
import type { AuditHook } from '../filters/chain-config.js';
import { type Exchange, SLOW_MILLIS } from '../filters/exchange.js';
import { type AuditDecision, type AuditPolicy, LEVELS, type Level, type Stage } from './policy.js';
import { redacted, redactedStatus, withoutManagedFields } from './redact.js';

/** The destination of events, each one line of JSON without the newline. */
export interface AuditSink {
  write(line: string): void;
}

export interface AuditMetrics {
  /** Increments apiserver_audit_level_total. */
  level(level: Level): void;
  /** Increments apiserver_audit_event_total. */
  event(): void;
}

/** The numbers of characters recorded of texts that clients choose. The user agent is cut as by kube-apiserver. */
const MAX_USER_AGENT = 1024;
const MAX_URI = 8192;
const MAX_MESSAGE = 8192;
const MAX_NAME = 1024;
const MARK = '...TRUNCATED';
const LAYER_PREFIX = 'apiserver.latency.k8s.io/';
const rank = (level: Level): number => LEVELS.indexOf(level);

/** Records what is known about an audited request. */
class Recorder implements AuditRecorder {
  readonly sourceIps: readonly string[];
  requestBody: JsonValue | undefined;
  responseBody: JsonValue | undefined;
  status: JsonObject | undefined;
  /** The identity of the object, once it is known. */
  reference: { name?: string; namespace?: string; uid?: string; resourceVersion?: string } = {};

  constructor(
    readonly exchange: Exchange,
    readonly decision: AuditDecision,
    private readonly clock: Clock,
  ) {
    // Read now, because the connection may be gone later.
    this.sourceIps = sourceIps(exchange);
  }

  records(level: AuditLevel): boolean {
    return rank(this.decision.level) >= rank(level);
  }

  /** Annotates a slow request with where its time went. */
  noteLatency(): void {
    const { exchange } = this;
    const total = this.clock.monotonic() - exchange.startedAt;
    if (total <= SLOW_MILLIS) return;
    for (const [layer, millis] of exchange.phases()) {
      if (millis > 0 && layer !== 'request-read') exchange.annotate(LAYER_PREFIX + layer, formatGoDuration(millis));
    }
    exchange.annotate(`${LAYER_PREFIX}total`, formatGoDuration(total));
  }

  requestObject(make: () => JsonValue): void {
    const value = make();
    this.identify(value);
    if (rank(this.decision.level) >= rank('Request')) this.requestBody = this.keep(value);
  }

  responseObject(make: () => JsonValue): void {
    if (this.decision.level === 'RequestResponse') this.responseBody = this.keep(make());
  }

  responseStatus(status: Status): void {
    const shown = redactedStatus(this.exchange.info, status);
    const { kind: _k, apiVersion: _v, ...rest } = shown;
    this.status = rest;
    if (this.decision.level === 'RequestResponse') this.responseBody = shown;
  }

  private keep(value: JsonValue): JsonValue {
    const shown = this.decision.omitManagedFields ? withoutManagedFields(value) : value;
    // Copy the object, because it is modified later.
    return JSON.parse(stringifyJson(redacted(this.exchange.info, shown))) as JsonValue;
  }

  private identify(value: JsonValue): void {
    const metadata = isObject(value) ? value['metadata'] : undefined;
    if (!isObject(metadata)) return;
    for (const field of ['name', 'namespace', 'uid', 'resourceVersion'] as const) {
      const text = stringAt(metadata, field) ?? '';
      if (text !== '') this.reference[field] = text;
    }
  }
}

/** Returns the source addresses of a request: those that proxies report, then the peer's. */
function sourceIps({ headers, socket }: Exchange): string[] {
  const { 'x-forwarded-for': forwarded, 'x-real-ip': real } = headers;
  const forwardedIps = typeof forwarded === 'string' ? forwarded.split(',').map((ip) => ip.trim()) : [];
  const ips = forwardedIps.filter((ip) => isIP(ip) !== 0);
  if (typeof real === 'string' && isIP(real) !== 0 && !ips.includes(real)) ips.push(real);
  const peer = (socket?.remoteAddress ?? '').replace(/^::ffff:/, '');
  if (peer !== '' && ips.at(-1) !== peer) ips.push(peer);
  return ips;
}

/** Returns the message with the authentication methods that a failed request tried, as kube-apiserver names them. */
function authenticationFailureMessage({ headers, socket }: Exchange): string {
  const [scheme = '', credentials] = (headers.authorization ?? '').trim().split(' ');
  const methods: string[] = [];
  if (credentials !== undefined && scheme.toLowerCase() === 'basic') methods.push('basic');
  if (credentials !== undefined && scheme.toLowerCase() === 'bearer') methods.push('bearer');
  if (Object.keys(socket?.getPeerCertificate() ?? {}).length > 0) methods.push('x509');
  return methods.length === 0
    ? 'Authentication failed, no credentials provided'
    : `Authentication failed, attempted: ${methods.join(', ')}`;
}

/** Creates audit.k8s.io/v1 events according to the policy. */
export class Auditor implements AuditHook {
  private readonly recorders = new WeakMap<Exchange, Recorder>();

  constructor(
    private readonly policy: AuditPolicy,
    private readonly sink: AuditSink,
    private readonly metrics: AuditMetrics,
    private readonly clock: Clock,
  ) {}

  requestReceived(exchange: Exchange, attributes: AuthorizerAttributes): void {
    const recorder = this.begin(exchange, attributes);
    if (recorder !== undefined) this.emit(recorder, 'RequestReceived');
  }

  responseStarted(exchange: Exchange): void {
    const recorder = this.recorders.get(exchange);
    if (recorder === undefined) return;
    const { response } = exchange;
    const started = (): void => this.emit(recorder, 'ResponseStarted');
    if (response.headersSent) started();
    else beforeHead(response, started);
  }

  authenticationFailed(exchange: Exchange, attributes: AuthorizerAttributes): void {
    const recorder = this.begin(exchange, attributes);
    if (recorder === undefined) return;
    recorder.status = { metadata: {}, message: authenticationFailureMessage(exchange) };
    this.responseStarted(exchange);
  }

  responseComplete(exchange: Exchange, error: unknown): void {
    const recorder = this.recorders.get(exchange);
    if (recorder === undefined) return;
    const { response } = exchange;
    if (error !== undefined && !response.headersSent) noteFailure(recorder, toApiError(error));
    else if (recorder.status === undefined && !response.headersSent) {
      recorder.status = { metadata: {}, status: 'Success', message: 'Connection closed early', code: 200 };
      if (exchange.longRunning) this.emit(recorder, 'ResponseStarted');
    }
    recorder.noteLatency();
    this.emit(recorder, 'ResponseComplete');
  }

  panicked(exchange: Exchange, error: unknown): void {
    const recorder = this.recorders.get(exchange);
    if (recorder === undefined) return;
    const message = `APIServer panic'd: ${messageOf(error)}`;
    recorder.status = { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 };
    this.emit(recorder, 'Panic');
  }

  private begin(exchange: Exchange, attributes: AuthorizerAttributes): Recorder | undefined {
    const decision = this.policy.decide(attributes);
    this.metrics.level(decision.level);
    if (decision.level === 'None') return undefined;
    const recorder = new Recorder(exchange, decision, this.clock);
    this.recorders.set(exchange, recorder);
    exchange.audit = recorder;
    return recorder;
  }

  private emit(recorder: Recorder, stage: Stage): void {
    if (recorder.decision.omitStages.has(stage)) return;
    this.metrics.event();
    this.sink.write(stringifyJson(this.event(recorder, stage)));
  }

  private event(recorder: Recorder, stage: Stage): JsonObject {
    const { exchange, decision, status } = recorder;
    const { requestor, user, userAgent, annotations, impersonationConstraint } = exchange;
    const began = stage !== 'RequestReceived';
    return {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: decision.level,
      auditID: exchange.auditId,
      stage,
      requestURI: truncated(exchange.request.url ?? '', MAX_URI, MARK),
      verb: truncated(exchange.info.verb, MAX_NAME, MARK),
      user: userInfoJson(requestor),
      ...(user !== requestor && { impersonatedUser: userInfoJson(user) }),
      ...(impersonationConstraint !== '' && { authenticationMetadata: { impersonationConstraint } }),
      sourceIPs: [...recorder.sourceIps],
      ...(userAgent !== '' && {
        userAgent: truncated(userAgent, MAX_USER_AGENT, MARK),
      }),
      ...(exchange.info.isResourceRequest && { objectRef: reference(recorder, began) }),
      ...(began && { responseStatus: { ...withShortMessage(status ?? { metadata: {} }), code: codeOf(recorder) } }),
      ...(began && recorder.requestBody !== undefined && { requestObject: recorder.requestBody }),
      ...(began && recorder.responseBody !== undefined && { responseObject: recorder.responseBody }),
      requestReceivedTimestamp: formatMicroTime(exchange.receivedAt),
      stageTimestamp: formatMicroTime(this.clock.now()),
      ...(annotations !== undefined && annotations.size > 0 && { annotations: Object.fromEntries(annotations) }),
    };
  }
}

/** Records an error about to be sent. If none of the client's media types is supported, only the code is known. */
function noteFailure(recorder: Recorder, { code, status }: ApiError): void {
  if (code === 406) recorder.status = { metadata: {}, code };
  else recorder.responseStatus(status);
}

/** Cuts a message, which may repeat the path. */
function withShortMessage(status: JsonObject): JsonObject {
  const { message } = status;
  if (typeof message !== 'string' || message.length <= MAX_MESSAGE) return status;
  return { ...status, message: truncated(message, MAX_MESSAGE, MARK) };
}

function codeOf({ status, exchange }: Recorder): JsonValue {
  return status?.['code'] ?? exchange.response.statusCode;
}

function reference({ exchange, reference: known }: Recorder, began: boolean): JsonObject {
  const { resource, namespace, name, apiGroup, apiVersion, subresource } = exchange.info;
  const found = began ? known : {};
  const all = {
    resource,
    namespace: namespace === '' ? (found.namespace ?? '') : namespace,
    name: name === '' ? (found.name ?? '') : name,
    uid: found.uid ?? '',
    apiGroup,
    apiVersion,
    resourceVersion: found.resourceVersion ?? '',
    subresource,
  };
  return Object.fromEntries(
    Object.entries(all)
      .filter(([, value]) => value !== '')
      .map(([key, value]) => [key, truncated(value, MAX_NAME, MARK)]),
  );
}

/** Calls `started` just before the response headers are sent. */
function beforeHead(response: Exchange['response'], started: () => void): void {
  const target: { writeHead(...head: unknown[]): unknown } = response;
  const original = target.writeHead.bind(response);
  target.writeHead = (...head) => {
    target.writeHead = original;
    if (typeof head[0] === 'number') response.statusCode = head[0];
    started();
    return original(...head);
  };
}
