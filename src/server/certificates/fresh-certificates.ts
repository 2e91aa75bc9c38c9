import { X509Certificate } from 'node:crypto';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import type { Logger } from '../../util/logger.js';
import type { ClusterLinks } from '../health/cluster-links.js';
import type { Carried, ServingCertificates } from './serving-certificates.js';

const LOOK_MILLIS = 60_000;
/** The interval while the certificate in use has expired, and after a change, when the cluster soon has the CA that the next step waits for. */
const SOON_MILLIS = 5_000;

export interface FreshContext {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info'>;
  readonly links: Pick<ClusterLinks, 'broken' | 'mended'>;
  readonly signal: AbortSignal;
  /** Called after each change of the certificates. */
  readonly renewed: () => void;
  readonly carried: Carried;
}

/**
 * Refreshes the serving certificates while the server runs. If the new ones cannot be used, the old certificate stays in force.
 * Its expiry is reported as soon as it occurs, and a new certificate is then picked up within seconds.
 */
export async function keepFresh(certificates: ServingCertificates, context: FreshContext): Promise<void> {
  const { clock, logger, links, signal, renewed, carried } = context;
  let trouble: string | undefined;
  let exchanged = false;
  for (;;) {
    const expires = Date.parse(new X509Certificate(certificates.pair.cert).validTo);
    const left = expires - clock.now();
    if (left <= 0) trouble ??= `it expired on ${new Date(expires).toISOString()}`;
    if (trouble === undefined) links.mended('serving-certificate');
    else links.broken('serving-certificate', trouble);
    await sleep(clock, left <= 0 ? SOON_MILLIS : Math.min(exchanged ? SOON_MILLIS : LOOK_MILLIS, left), signal);
    if (signal.aborted) return;
    trouble = undefined;
    exchanged = false;
    try {
      exchanged = await certificates.refresh(carried);
      if (!exchanged) continue;
      renewed();
      logger.info('renewed the serving certificate or its CA');
    } catch (error) {
      trouble = `it cannot be renewed: ${messageOf(error)}`;
    }
  }
}
