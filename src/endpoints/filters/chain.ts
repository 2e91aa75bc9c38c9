import { withAudit } from './audit.js';
import { withAuthentication } from './access/authentication.js';
import { withAuthorization } from './access/authorization.js';
import type { ChainConfig, Filter, Step } from './chain-config.js';
import { withDeadline } from './deadline.js';
import { withImpersonation } from './impersonation/impersonation.js';
import { withMaxInFlight } from './in-flight/max-in-flight.js';
import { withPanicRecovery } from './panic-recovery.js';
import { withRequestInfo } from './request-info.js';
import { withTracing } from './tracing.js';
import { withWarnings } from './warnings/warning-headers.js';

/** The stages in order, outermost first. A test pins the order, because each stage relies on those before it. */
export const FILTERS = [
  ['panic-recovery', withPanicRecovery],
  ['request-info', withRequestInfo],
  ['deadline', withDeadline],
  ['warnings', withWarnings],
  ['authentication', withAuthentication],
  ['tracing', withTracing],
  ['audit', withAudit],
  ['impersonation', withImpersonation],
  ['max-in-flight', withMaxInFlight],
  ['authorization', withAuthorization],
] as const satisfies readonly (readonly [string, Filter])[];

/** Builds the chain around `handler`. */
export function buildHandlerChain(handler: Step, config: ChainConfig): Step {
  return FILTERS.reduceRight<Step>((next, [, filter]) => filter(next, config), handler);
}
