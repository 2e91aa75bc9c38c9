import { X509Certificate } from 'node:crypto';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import type { Logger } from '../../util/logger.js';
import type { ClusterLinks } from '../health/cluster-links.js';
import type { IsCaPublished, ServingCertificates } from './serving-certificates.js';

const LOOK_MILLIS = 60_000;
/** The interval while the certificate in use has expired, and after a change, when the cluster soon has the CA that the next step waits for. */
const SOON_MILLIS = 5_000;

export interface RenewalContext {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info'>;
  readonly links: Pick<ClusterLinks, 'broken' | 'restored'>;
  readonly signal: AbortSignal;
  /** Called after each change of the certificates. */
  readonly renewed: () => void;
  readonly isCaPublished: IsCaPublished;
}

/**
 * Refreshes the serving certificates while the server runs. If the new ones cannot be used, the old certificate stays in force.
 * Its expiry is reported as soon as it occurs, and a new certificate is then picked up within seconds.
 */
export async function renewCertificates(certificates: ServingCertificates, context: RenewalContext): Promise<void> {
  const { clock, logger, links, signal, renewed, isCaPublished } = context;
  let problem: string | undefined;
  let changed = false;
  for (;;) {
    const expires = Date.parse(new X509Certificate(certificates.pair.cert).validTo);
    const remainingMillis = expires - clock.now();
    if (remainingMillis <= 0) problem ??= `it expired on ${new Date(expires).toISOString()}`;
    if (problem === undefined) links.restored('serving-certificate');
    else links.broken('serving-certificate', problem);
    await sleep(
      clock,
      remainingMillis <= 0 ? SOON_MILLIS : Math.min(changed ? SOON_MILLIS : LOOK_MILLIS, remainingMillis),
      signal,
    );
    if (signal.aborted) return;
    problem = undefined;
    changed = false;
    try {
      changed = await certificates.refresh(isCaPublished);
      if (!changed) continue;
      renewed();
      logger.info('renewed the serving certificate or its CA');
    } catch (error) {
      problem = `it cannot be renewed: ${messageOf(error)}`;
    }
  }
}
