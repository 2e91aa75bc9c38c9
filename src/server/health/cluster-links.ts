import type { Registry } from 'prom-client';
import type { Clock } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import type { Logger } from '../../util/logger.js';
import { type GaugeVec, metricsOf } from '../../util/metrics/metrics.js';

/** The dependencies of an aggregated server on the cluster and on its files, with the effect of losing each. */
const LINKS = {
  'front-proxy': 'using the last known front-proxy configuration',
  namespaces: 'looking up namespaces individually',
  quotas: 'using the last known quotas',
  admission: 'using the last known webhook configurations and policies',
  apiservices: 'group versions are not registered with the cluster',
  owner: 'APIServices will not be garbage-collected with their owner',
  detached: 'annex detach has no effect on this replica',
  peers: 'a replica that alone loses MongoDB stays ready',
  replicas: 'requests wait longer when the node of another replica is lost',
  'serving-certificate': 'the cluster may reject connections to the server',
} as const;

export type Link = keyof typeof LINKS;

/** The interval at which a link that stays broken is logged again. */
const REPEAT_MILLIS = 600_000;

/** Tracks the state of the links: sets a gauge for each, and logs when one breaks or recovers. */
export class ClusterLinks {
  private readonly gauge: GaugeVec;
  private untrustedLoggedAt = -Infinity;
  private readonly lastLogged = new Map<Link, { readonly text: string; readonly at: number }>();

  constructor(
    registry: Registry,
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {
    const { gauge } = metricsOf(registry);
    const help =
      '1 while Annex cannot read something that it needs from the extended cluster or from its certificate files.';
    this.gauge = gauge('annex_cluster_link_broken', help, ['link']);
    for (const link of Object.keys(LINKS)) this.gauge.withLabelValues(link).value = 0;
  }

  broken(link: Link, what: unknown): void {
    this.gauge.withLabelValues(link).value = 1;
    const text = messageOf(what);
    const now = this.clock.monotonic();
    const before = this.lastLogged.get(link);
    if (before?.text === text && now - before.at < REPEAT_MILLIS) return;
    this.lastLogged.set(link, { text, at: now });
    this.logger.warn(`${link}: ${text}: ${LINKS[link]}; run annex doctor for the remedy`);
  }

  /** Logs an untrusted certificate on a request with user headers. Any client can send one, so no link is considered broken. */
  logUntrustedClient(message: string): void {
    const now = this.clock.monotonic();
    if (now - this.untrustedLoggedAt < REPEAT_MILLIS) return;
    this.untrustedLoggedAt = now;
    this.logger.warn(
      `front-proxy: rejected (401) a request with user headers from an untrusted client certificate: ${message}; if the client is the cluster's API server, renew its --proxy-client-cert-file`,
    );
  }

  restored(link: Link): void {
    this.gauge.withLabelValues(link).value = 0;
    if (this.lastLogged.delete(link)) this.logger.info(`${link}: restored`);
  }
}

/** Returns callbacks for a single link. */
export const linkCallbacks = (links: ClusterLinks, link: Link): { broken(error: unknown): void; restored(): void } => ({
  broken: (error) => links.broken(link, error),
  restored: () => links.restored(link),
});
