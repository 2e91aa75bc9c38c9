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

/** One stage of the chain with all that follows it. It makes a promise only where something has to be waited for. */
export type Step = (exchange: Exchange) => MaybePromise<void>;

/** Wraps what follows; called once, when the chain is built. */
export type Filter = (next: Step, config: ChainConfig) => Step;

/** Where audit events are made and written. Absent: nothing is audited. */
export interface AuditHook {
  /** Called once the user is known, before anything is decided. */
  requestReceived(exchange: Exchange, attributes: AuthorizerAttributes): void;
  /** Called instead where nobody vouches for the request, before it is refused. */
  authenticationFailed(exchange: Exchange, attributes: AuthorizerAttributes): void;
  /** Called when a watch or the like has begun to answer. */
  responseStarted(exchange: Exchange): void;
  /** Called when the handler has done its work, with what it threw, if it did. */
  responseComplete(exchange: Exchange, error: unknown): void;
  /** Called instead where what was thrown is a mistake in the program. */
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
  /** Milliseconds; the longest that a request that is not long-running may take. */
  readonly requestTimeout: number;
  /** 0: no limit. */
  readonly maxRequestsInFlight: number;
  readonly maxMutatingRequestsInFlight: number;
  /** Chance of a GOAWAY with an answer on HTTP/2, 0 to 0.02. */
  readonly goawayChance: number;
  readonly random: () => number;
  /** Value of Strict-Transport-Security; empty: not sent. */
  readonly strictTransportSecurity: string;
  /** Turns of the event loop. */
  readonly turns: Turns;
  /** Why whole collections cannot be read at the moment; undefined where they can. */
  readonly refusal: (verb: 'list' | 'watch') => string | undefined;
  readonly audit: AuditHook | undefined;
  /** Absent: nothing is traced. */
  readonly tracer: RequestTracer | undefined;
  /** Parsed selectors of a list, watch or deletecollection, for the authorizer. */
  readonly parseSelectors:
    ((info: RequestInfo) => Pick<AuthorizerAttributes, 'fieldSelector' | 'labelSelector'>) | undefined;
}
