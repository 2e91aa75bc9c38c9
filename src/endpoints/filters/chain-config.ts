import type { Authorizer, AuthorizerAttributes } from '../../authorization/authorizer/interfaces.js';
import type { RequestAuthenticator } from '../../authentication/authenticator/interfaces.js';
import type { RequestInfo } from '../../request/request-info.js';
import type { RequestTracer } from '../../request/tracer.js';
import type { Turns } from '../../scheduling/turns.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import type { Clock } from '../../util/clock.js';
import type { FeatureGates } from '../../util/feature-gates.js';
import type { Logger } from '../../util/logger.js';
import type { TimerWheel } from '../../util/timer-wheel.js';
import type { Exchange } from './exchange.js';
import type { ChainMetrics } from './metrics.js';
import type { StatusWriter } from './status.js';

/** One stage of the chain with all that follow it. Returns a promise only if there is something to wait for. */
export type Step = (exchange: Exchange) => MaybePromise<void>;

/** Wraps the next stage. Called once, when the chain is built. */
export type Filter = (next: Step, config: ChainConfig) => Step;

/** Creates and writes audit events. If absent, nothing is audited. */
export interface AuditHook {
  /** Called after authentication, before any decision on the request. */
  requestReceived(exchange: Exchange, attributes: AuthorizerAttributes): void;
  /** Called instead if authentication fails, before the request is rejected. */
  authenticationFailed(exchange: Exchange, attributes: AuthorizerAttributes): void;
  /** Called when a long-running request, such as a watch, begins. */
  responseStarted(exchange: Exchange): void;
  /** Called when the handler returns, with the error it threw, if any. */
  responseComplete(exchange: Exchange, error: unknown): void;
  /** Called instead if the error is a defect in the program. */
  panicked(exchange: Exchange, error: unknown): void;
}

export interface ChainConfig {
  readonly authenticator: RequestAuthenticator;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  readonly logger: Logger;
  readonly gates: FeatureGates;
  readonly metrics: ChainMetrics;
  readonly writeStatus: StatusWriter;
  /** The maximum duration of a request that is not long-running, in milliseconds. */
  readonly requestTimeout: number;
  /** 0 means no limit. */
  readonly maxRequestsInFlight: number;
  readonly maxMutatingRequestsInFlight: number;
  readonly maxWatchesPerUser: number;
  /** The probability of sending a GOAWAY with an HTTP/2 response, 0 to 0.02. */
  readonly goawayChance: number;
  readonly random: () => number;
  /** The value of the Strict-Transport-Security header; if empty, the header is not sent. */
  readonly strictTransportSecurity: string;
  /** Grants turns of the event loop. */
  readonly turns: Turns;
  /** Returns why collections cannot be read at the moment; undefined if they can. */
  readonly unavailableReason: (verb: 'list' | 'watch') => string | undefined;
  readonly audit: AuditHook | undefined;
  /** If absent, nothing is traced. */
  readonly tracer: RequestTracer | undefined;
  /** Parses the selectors of a list, watch or deletecollection, for the authorizer. */
  readonly parseSelectors:
    ((info: RequestInfo) => Pick<AuthorizerAttributes, 'fieldSelector' | 'labelSelector'>) | undefined;
}
