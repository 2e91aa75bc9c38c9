import { X509Certificate } from 'node:crypto';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import type { Logger } from '../../util/logger.js';
import type { ClusterLinks } from '../health/cluster-links.js';
import type { Carried, ServingCertificates } from './serving-certificates.js';

const LOOK_MILLIS = 60_000;
/** While the certificate in use is unusable, and after an exchange, when the cluster has got what the next one waits for. */
const SOON_MILLIS = 5_000;

export interface FreshContext {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info'>;
  readonly links: Pick<ClusterLinks, 'broken' | 'mended'>;
  readonly signal: AbortSignal;
  /** Called after each exchange. */
  readonly renewed: () => void;
  readonly carried: Carried;
}

/**
 * Serving certificates are looked after while the server runs; what cannot be used leaves the old one in force. That one has
 * expired is told at the very time, and a new one is then taken soon.
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
